//! Cookies, read and written.

/// The value of a cookie of the `Cookie` headers.
pub fn cookie<'a>(headers: impl Iterator<Item = &'a [u8]>, name: &str) -> Option<&'a str> {
    for header in headers {
        let Ok(text) = std::str::from_utf8(header) else { continue };
        for pair in text.split(';') {
            if let Some((known, value)) = pair.trim().split_once('=')
                && known == name
            {
                return Some(value);
            }
        }
    }
    None
}

/// A cookie that scripts cannot read and other sites do not send with a form. `max_age` 0 removes it.
pub fn set_cookie(name: &str, value: &str, max_age: u64, secure: bool) -> String {
    let secure = if secure { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Lax{secure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_others() {
        let headers = [&b"a=1; hooks_session=x.y"[..], b"\xff", b"b=2"];
        assert_eq!(cookie(headers.into_iter(), "hooks_session"), Some("x.y"));
        assert_eq!(cookie(headers.into_iter(), "b"), Some("2"));
        assert_eq!(cookie(headers.into_iter(), "session"), None);
    }
}
