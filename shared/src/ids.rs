//! Ids made by the relay: a prefix and 26 characters of Crockford's base 32, the first ten of them the time
//! in milliseconds, so that ids sort roughly by age and carry 80 random bits.

use rand::RngCore;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// `evt_…`: made once by ingest, the same on every attempt and replay; what receivers deduplicate on.
pub fn event_id(unix_millis: i64) -> String {
    with_prefix("evt_", unix_millis)
}

/// `dlv_…`: one event owed to one push subscription.
pub fn delivery_id(unix_millis: i64) -> String {
    with_prefix("dlv_", unix_millis)
}

/// `sub_…`: a push subscription.
pub fn subscription_id(unix_millis: i64) -> String {
    with_prefix("sub_", unix_millis)
}

/// `req_…`: an HTTP request, where the client sent no id of its own.
pub fn request_id(unix_millis: i64) -> String {
    with_prefix("req_", unix_millis)
}

/// A request's id: the client's `X-Request-Id` where it is short and printable, else a new one.
pub fn request_id_of(given: Option<&[u8]>, unix_millis: i64) -> String {
    let usable = |id: &&[u8]| !id.is_empty() && id.len() <= 128 && id.iter().all(u8::is_ascii_graphic);
    match given.filter(usable).and_then(|id| std::str::from_utf8(id).ok()) {
        Some(id) => id.to_owned(),
        None => request_id(unix_millis),
    }
}

fn with_prefix(prefix: &str, unix_millis: i64) -> String {
    let mut random = [0u8; 16];
    rand::rng().fill_bytes(&mut random[6..]);
    let time = (unix_millis.max(0) as u64).to_be_bytes();
    random[..6].copy_from_slice(&time[2..]);
    let mut value = u128::from_be_bytes(random);
    let mut text = [0u8; 26];
    for place in text.iter_mut().rev() {
        *place = ALPHABET[(value & 31) as usize];
        value >>= 5;
    }
    let mut id = String::with_capacity(prefix.len() + 26);
    id.push_str(prefix);
    id.extend(text.iter().map(|byte| *byte as char));
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_keeps_its_id_when_it_is_printable() {
        assert_eq!(request_id_of(Some(b"abc-1"), 0), "abc-1");
        for bad in [None, Some(&b""[..]), Some(b"a b"), Some(b"a\x80"), Some(&[b'x'; 129])] {
            assert!(request_id_of(bad, 0).starts_with("req_"));
        }
    }

    #[test]
    fn ids_have_their_shape_and_sort_by_time() {
        let (old, new) = (event_id(1_000), event_id(2_000));
        assert_eq!(old.len(), 30);
        assert!(old.starts_with("evt_") && old < new, "{old} {new}");
        let unique: std::collections::HashSet<_> = (0..1000).map(|_| delivery_id(5)).collect();
        assert_eq!(unique.len(), 1000);
    }
}
