//! Who sent a request, behind proxies that are trusted to say so.

use ipnet::IpNet;
use std::net::IpAddr;

/// The nearest address that is not one of the trusted proxies. `forwarded` are the values of
/// `X-Forwarded-For`, in order; each hop appends the address it got the request from, so they are read from
/// the end, and only as long as the hop that wrote them is trusted.
pub fn sender<'a>(
    peer: Option<IpAddr>,
    forwarded: impl DoubleEndedIterator<Item = &'a [u8]>,
    trusted: &[IpNet],
) -> Option<IpAddr> {
    let mut sender = peer?.to_canonical();
    for value in forwarded.rev() {
        for hop in std::str::from_utf8(value).unwrap_or_default().rsplit(',') {
            if !trusted.iter().any(|net| net.contains(&sender)) {
                return Some(sender);
            }
            match address(hop.trim()) {
                Some(before) => sender = before,
                None => return Some(sender),
            }
        }
    }
    Some(sender)
}

/// `10.1.2.3`, `10.1.2.3:80`, `::1`, `[::1]:80`.
fn address(text: &str) -> Option<IpAddr> {
    let plain = text.parse::<IpAddr>().ok();
    let with_port = || text.parse::<std::net::SocketAddr>().ok().map(|socket| socket.ip());
    plain.or_else(with_port).map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(peer: &str, forwarded: &[&str], trusted: &[&str]) -> String {
        let trusted: Vec<IpNet> = trusted.iter().map(|net| net.parse().expect("a net")).collect();
        let values = forwarded.iter().map(|value| value.as_bytes());
        sender(peer.parse().ok(), values, &trusted).map(|a| a.to_string()).unwrap_or_default()
    }

    #[test]
    fn only_trusted_hops_are_believed() {
        assert_eq!(who("9.9.9.9", &["1.1.1.1"], &[]), "9.9.9.9");
        assert_eq!(who("10.0.0.1", &["1.1.1.1"], &["10.0.0.0/8"]), "1.1.1.1");
        assert_eq!(who("10.0.0.1", &["6.6.6.6, 1.1.1.1, 10.0.0.2"], &["10.0.0.0/8"]), "1.1.1.1");
        assert_eq!(who("10.0.0.1", &["6.6.6.6", "1.1.1.1"], &["10.0.0.0/8"]), "1.1.1.1");
        assert_eq!(who("10.0.0.1", &["nonsense"], &["10.0.0.0/8"]), "10.0.0.1");
        assert_eq!(who("10.0.0.1", &["[2001:db8::1]:443"], &["10.0.0.0/8"]), "2001:db8::1");
        assert_eq!(who("::ffff:10.0.0.1", &["1.1.1.1:5"], &["10.0.0.0/8"]), "1.1.1.1");
    }
}
