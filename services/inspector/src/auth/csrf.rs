//! A change that a browser sends must come from our own page, twice over: by its `Origin` (or `Referer`), and by a
//! token that only our pages know. The token is derived from the session's secret, so it needs no place of its own
//! and changes with every sign-in.

use crate::error::Error;
use crate::http::{Incoming, same_host};
use crate::who::Who;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The token of a session.
pub fn token_of(session_secret: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(b"hooks csrf\0");
    digest.update(session_secret.as_bytes());
    URL_SAFE_NO_PAD.encode(digest.finalize())
}

/// Refuses a change that is not from our page. Requests with a bearer token need none of this: no page can make a
/// browser send one. Requests of nobody (sign-in and the like) are checked for where they come from.
///
/// A public route does nothing in the name of the session that came along, so it does not ask for the session's token.
pub fn check(who: &Who, public: bool, incoming: &Incoming, field: Option<&str>) -> Result<(), Error> {
    if who.token.is_some() || incoming.headers.contains_key("authorization") {
        return Ok(());
    }
    let browser = who.browser.as_ref().filter(|_| !public);
    check_origin(browser.is_some(), incoming)?;
    let Some(browser) = browser else { return Ok(()) };
    let given = incoming.header("x-hooks-csrf").or(field).unwrap_or_default();
    if bool::from(given.as_bytes().ct_eq(browser.csrf.as_bytes())) {
        Ok(())
    } else {
        Err(Error::Csrf("csrf: the token of this page is missing or old; load the page again"))
    }
}

fn check_origin(has_session: bool, incoming: &Incoming) -> Result<(), Error> {
    const ELSEWHERE: Error = Error::Csrf("csrf: the request comes from another site");
    if incoming.header("sec-fetch-site").is_some_and(|site| matches!(site, "cross-site" | "same-site")) {
        return Err(ELSEWHERE);
    }
    match incoming.header("origin").or(incoming.header("referer")) {
        Some(url) if same_host(url, &incoming.host) => Ok(()),
        Some(_) => Err(ELSEWHERE),
        // No browser sends a change without an `Origin`: this is a program, which has no cookie to abuse.
        None if !has_session => Ok(()),
        None => Err(Error::Csrf("csrf: neither Origin nor Referer is there")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::who::Browser;

    fn incoming(headers: &[(&'static str, &str)]) -> Incoming {
        Incoming {
            host: "localhost:8082".into(),
            headers: headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
            ..Incoming::default()
        }
    }

    fn signed_in() -> Who {
        let browser = Browser { session_id: uuid::Uuid::nil(), csrf: token_of("s") };
        Who { browser: Some(browser), ..Who::default() }
    }

    #[test]
    fn a_session_needs_origin_and_token() {
        let ours = ("origin", "http://localhost:8082");
        let token = token_of("s");
        assert!(check(&signed_in(), false, &incoming(&[ours, ("x-hooks-csrf", &token)]), None).is_ok());
        assert!(check(&signed_in(), false, &incoming(&[ours]), Some(&token)).is_ok());
        assert!(check(&signed_in(), false, &incoming(&[ours]), None).is_err());
        assert!(check(&signed_in(), false, &incoming(&[]), Some(&token)).is_err());
        assert!(check(&signed_in(), false, &incoming(&[("origin", "null")]), Some(&token)).is_err());
        assert!(check(&signed_in(), false, &incoming(&[("origin", "http://evil")]), Some(&token)).is_err());
        assert!(
            check(&signed_in(), false, &incoming(&[ours, ("sec-fetch-site", "cross-site")]), Some(&token))
                .is_err()
        );
        assert!(check(&signed_in(), false, &incoming(&[ours]), Some(&token_of("other"))).is_err());
    }

    #[test]
    fn nobody_may_send_from_a_program_but_not_from_another_site() {
        assert!(check(&Who::default(), true, &incoming(&[]), None).is_ok());
        assert!(check(&Who::default(), true, &incoming(&[("origin", "http://evil")]), None).is_err());
    }
}
