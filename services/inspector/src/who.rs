//! Who is calling, and what that lets them do.

use crate::store::people::Person;
use crate::store::tokens::TokenRow;
use hooks_shared::token::ADMIN_SCOPE;
use std::net::IpAddr;
use uuid::Uuid;

/// The scope that lets a token act as its owner: see what they see, change what is theirs.
pub const ACCOUNT_SCOPE: &str = "account";

/// A signed-in browser.
#[derive(Debug, Clone)]
pub struct Browser {
    pub session_id: Uuid,
    /// What every mutation of this session must repeat.
    pub csrf: String,
}

/// The caller of a request. Nobody at all is the default.
#[derive(Debug, Clone, Default)]
pub struct Who {
    /// The signed-in person, or the token's owner. Always active.
    pub person: Option<Person>,
    pub browser: Option<Browser>,
    pub token: Option<TokenRow>,
}

/// Which sources somebody may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    All,
    Only(Vec<String>),
}

impl Sight {
    pub fn covers(&self, source: &str) -> bool {
        match self {
            Sight::All => true,
            Sight::Only(sources) => sources.iter().any(|known| known == source),
        }
    }
}

impl Who {
    pub fn is_anonymous(&self) -> bool {
        self.person.is_none() && self.token.is_none()
    }

    /// A token is an administrator's if it says so and its owner, if it has one, still is one.
    pub fn is_admin(&self) -> bool {
        let person_is = self.person.as_ref().is_some_and(Person::is_admin);
        match &self.token {
            Some(token) => token.has_scope(ADMIN_SCOPE) && (token.owner_id.is_none() || person_is),
            None => person_is,
        }
    }

    /// Acts as a person: a browser, or a token of theirs with the scope for it.
    pub fn acts_as_person(&self) -> bool {
        match &self.token {
            Some(token) => self.person.is_some() && token.is_pat() && token.has_scope(ACCOUNT_SCOPE),
            None => self.person.is_some(),
        }
    }

    /// A token of kind listener reads through the subscribe service, not here.
    pub fn may_read(&self) -> bool {
        let Some(token) = &self.token else { return self.person.is_some() };
        self.is_admin() || token.is_pat() && token.scopes.iter().any(|scope| scope != ADMIN_SCOPE)
    }

    /// What they may see: a token never more than its owner, nor more than it says.
    pub fn sight(&self) -> Sight {
        if self.is_admin() {
            return Sight::All;
        }
        let Some(token) = &self.token else { return self.person_sight() };
        if token.has_scope(ACCOUNT_SCOPE) && self.person.is_some() {
            return self.person_sight();
        }
        let owned = token.owner_id.map(|_| self.person_sight());
        let named = token.scopes.iter().filter(|scope| !is_special(scope));
        Sight::Only(named.filter(|scope| owned.as_ref().is_none_or(|s| s.covers(scope))).cloned().collect())
    }

    fn person_sight(&self) -> Sight {
        match &self.person {
            Some(person) if person.is_admin() => Sight::All,
            Some(person) => Sight::Only(person.scopes.clone()),
            None => Sight::Only(Vec::new()),
        }
    }

    pub fn person_id(&self) -> Option<Uuid> {
        self.person.as_ref().map(|person| person.id)
    }

    /// How the audit names them.
    pub fn label(&self) -> String {
        match (&self.person, &self.token) {
            (Some(person), _) => person.email.clone(),
            (None, Some(token)) => format!("token {}", token.name),
            (None, None) => "anonymous".to_owned(),
        }
    }
}

/// Scopes that are no sources.
pub fn is_special(scope: &str) -> bool {
    scope == ADMIN_SCOPE || scope == ACCOUNT_SCOPE
}

/// Where a request came from, for the audit.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    pub address: Option<IpAddr>,
    pub user_agent: String,
    pub request_id: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::OffsetDateTime;

    fn person(role: &str, scopes: &[&str]) -> Person {
        Person {
            id: Uuid::new_v4(),
            email: "a@example.com".into(),
            name: "A".into(),
            role: role.into(),
            scopes: scopes.iter().map(|s| (*s).to_owned()).collect(),
            created_at: OffsetDateTime::UNIX_EPOCH,
            deactivated_at: None,
        }
    }

    fn token(kind: &str, scopes: &[&str], owner: Option<&Person>) -> Who {
        let row = TokenRow {
            id: Uuid::new_v4(),
            name: "t".into(),
            kind: kind.into(),
            scopes: scopes.iter().map(|s| (*s).to_owned()).collect(),
            owner_id: owner.map(|p| p.id),
            ephemeral: false,
            created_at: OffsetDateTime::UNIX_EPOCH,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
        };
        Who { person: owner.cloned(), browser: None, token: Some(row) }
    }

    #[test]
    fn a_token_is_never_more_than_its_owner() {
        let member = person("member", &["a"]);
        assert!(!token("pat", &["admin"], Some(&member)).is_admin());
        assert_eq!(token("pat", &["a", "b"], Some(&member)).sight(), Sight::Only(vec!["a".into()]));
        assert!(token("pat", &["admin"], None).is_admin());
        assert!(token("listener", &["admin"], None).is_admin());
    }

    #[test]
    fn a_token_does_not_act_as_its_owner_without_the_scope() {
        let admin = person("admin", &[]);
        let narrow = token("pat", &["a"], Some(&admin));
        assert!(!narrow.is_admin() && !narrow.acts_as_person() && narrow.may_read());
        assert_eq!(narrow.sight(), Sight::Only(vec!["a".into()]));
        let account = token("pat", &["account"], Some(&admin));
        assert!(!account.is_admin() && account.acts_as_person());
        assert_eq!(account.sight(), Sight::All);
        assert!(!token("listener", &["a"], Some(&admin)).may_read());
        assert!(!token("listener", &["account"], Some(&admin)).acts_as_person());
    }
}
