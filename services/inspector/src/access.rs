//! Who may use a route.

use crate::error::Error;
use crate::who::Who;

/// What a route asks of its caller. There is no default: every row of the table says one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody.
    Public,
    /// Somebody signed in in a browser.
    Browser,
    /// A person: in a browser, or by a token of theirs with the scope `account`.
    Person,
    /// Anybody who may see at least one source; what they see is narrowed by the handler.
    Reader,
    /// An administrator, in a browser or by a token with the scope `admin`.
    Admin,
}

impl Access {
    /// None where the caller may go on.
    pub fn refusal(self, who: &Who) -> Option<Error> {
        if self == Access::Public {
            return None;
        }
        if who.is_anonymous() {
            return Some(Error::Unauthorized);
        }
        let may = match self {
            Access::Public => true,
            Access::Browser => who.browser.is_some(),
            Access::Person => who.acts_as_person(),
            Access::Reader => who.may_read(),
            Access::Admin => who.is_admin(),
        };
        (!may).then_some(Error::Forbidden(self.reason()))
    }

    fn reason(self) -> &'static str {
        match self {
            Access::Public => "",
            Access::Browser => "this can only be done in a browser, signed in",
            Access::Person => {
                "this needs a person: sign in, or use a personal token with the scope `account`"
            }
            Access::Reader => {
                "this token reads nothing here: a personal token with a source or `account` in its scopes does"
            }
            Access::Admin => {
                "this needs an administrator: a token with the scope `admin`, or an administrator signed in"
            }
        }
    }
}
