//! The two ways in which a provider changes a value before signing it.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The percent codes that HubSpot's documentation says to decode before hashing a URL.
const HUBSPOT_CODES: [(&str, char); 12] = [
    ("%3A", ':'),
    ("%2F", '/'),
    ("%3F", '?'),
    ("%40", '@'),
    ("%21", '!'),
    ("%24", '$'),
    ("%27", '\''),
    ("%28", '('),
    ("%29", ')'),
    ("%2A", '*'),
    ("%2C", ','),
    ("%3B", ';'),
];

/// The URL with HubSpot's twelve codes decoded, in one pass, in either case of hex.
pub(super) fn hubspot_decode(url: &str) -> Cow<'_, str> {
    if !url.contains('%') {
        return Cow::Borrowed(url);
    }
    let mut out = String::with_capacity(url.len());
    let mut rest = url;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let code = rest.get(..3).and_then(|code| {
            HUBSPOT_CODES.iter().find(|(known, _)| known.eq_ignore_ascii_case(code)).map(|(_, c)| *c)
        });
        match code {
            Some(c) => {
                out.push(c);
                rest = &rest[3..];
            }
            None => {
                out.push('%');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The body with each non-ASCII character as lower-case `\uXXXX`, one for each UTF-16 unit, as
/// Box's SDK writes it. A body that is not UTF-8 has no such form and is left alone.
pub(super) fn escape_unicode(body: &[u8]) -> Cow<'_, [u8]> {
    if body.is_ascii() {
        return Cow::Borrowed(body);
    }
    let Ok(text) = std::str::from_utf8(body) else { return Cow::Borrowed(body) };
    let mut out = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    Cow::Owned(out.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hubspot_decodes_its_twelve_codes_once() {
        assert_eq!(hubspot_decode("https://e/?a=b%40c%2fd%20%2540%"), "https://e/?a=b@c/d%20%2540%");
        assert_eq!(hubspot_decode("%é%3a"), "%é:");
    }

    #[test]
    fn escapes_are_utf16_units_in_lower_case() {
        assert_eq!(&*escape_unicode("aÄ😀".as_bytes()), br"a\u00c4\ud83d\ude00");
        assert_eq!(&*escape_unicode(b"\xff"), b"\xff");
    }
}
