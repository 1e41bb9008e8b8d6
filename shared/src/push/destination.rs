//! Where a push may go. Names are resolved by us, every address is checked, and the connection is made to a checked
//! address, so that a name that answers differently the second time gains nothing.

use futures_util::future::BoxFuture;
use ipnet::IpNet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use url::{Host, Url};

/// Which addresses are allowed beyond the public ones.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    loopback: bool,
    private: bool,
    networks: Vec<IpNet>,
}

/// Why a URL or an address is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the URL cannot be read: {0}")]
    Unreadable(String),
    #[error(
        "only http and https are pushed to, not {0}; write one such as https://shop.example.com/webhooks"
    )]
    Scheme(String),
    #[error("the URL holds a user name or password; use a header or the signature instead")]
    UserInfo,
    #[error("the URL names no host")]
    NoHost,
    #[error("{address} is {kind}; push.allow_destinations does not permit it")]
    Address { address: IpAddr, kind: Kind },
}

/// What an address is, if not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Loopback,
    Private,
    LinkLocal,
    CarrierGrade,
    Multicast,
    Unspecified,
    Reserved,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Loopback => "a loopback address",
            Kind::Private => "a private address",
            Kind::LinkLocal => "a link-local address (the clouds' metadata services live there)",
            Kind::CarrierGrade => "a carrier-grade NAT address (100.64.0.0/10)",
            Kind::Multicast => "a multicast address",
            Kind::Unspecified => "an unspecified address",
            Kind::Reserved => "a reserved address",
        })
    }
}

/// Why no address came out of a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("the name {name} does not resolve: {reason}")]
    Unresolved { name: String, reason: String },
}

/// Turns names into addresses. A seam: tests answer as they like.
pub trait Resolver: Send + Sync {
    fn lookup(&self, name: &str) -> BoxFuture<'static, Result<Vec<IpAddr>, String>>;
}

/// The machine's resolver.
#[derive(Debug, Clone, Copy)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn lookup(&self, name: &str) -> BoxFuture<'static, Result<Vec<IpAddr>, String>> {
        let name = name.to_owned();
        Box::pin(async move {
            let found =
                tokio::net::lookup_host((name.as_str(), 0)).await.map_err(|error| error.to_string())?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

impl Policy {
    /// Reads `push.allow_destinations`: `loopback`, `private`, or ranges.
    pub fn parse(texts: &[String]) -> Result<Self, String> {
        let mut policy = Self::default();
        for text in texts {
            match text.as_str() {
                "loopback" => policy.loopback = true,
                "private" => policy.private = true,
                range => policy.networks.push(
                    range
                        .parse()
                        .map_err(|_| format!("`{range}` is neither loopback, private nor a range"))?,
                ),
            }
        }
        Ok(policy)
    }

    /// Reads a URL and checks all that can be told without asking anybody: literal addresses in every spelling
    /// (`127.1`, `0x7f.1`, `2130706433`; the URL parser turns them into one) are checked here.
    pub fn check_url(&self, text: &str) -> Result<Url, Refused> {
        let url = Url::parse(text).map_err(|error| Refused::Unreadable(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refused::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::UserInfo);
        }
        match url.host() {
            None => return Err(Refused::NoHost),
            Some(Host::Domain("")) => return Err(Refused::NoHost),
            Some(Host::Domain(_)) => {}
            Some(Host::Ipv4(address)) => self.check_address(address.into())?,
            Some(Host::Ipv6(address)) => self.check_address(address.into())?,
        }
        Ok(url)
    }

    /// Whether an address may be connected to.
    pub fn check_address(&self, address: IpAddr) -> Result<(), Refused> {
        if self.networks.iter().any(|network| network.contains(&address)) {
            return Ok(());
        }
        let carried = carried_by(address);
        for candidate in std::iter::once(address).chain(carried) {
            let Some(kind) = kind_of(candidate) else { continue };
            let listed = self.networks.iter().any(|network| network.contains(&candidate));
            let allowed = match kind {
                Kind::Loopback => self.loopback,
                Kind::Private => self.private,
                _ => false,
            };
            if !listed && !allowed {
                return Err(Refused::Address { address, kind });
            }
        }
        Ok(())
    }

    /// The addresses of a URL, all of them checked. One that is refused refuses them all: a name that mixes public
    /// and private addresses is not to be trusted.
    pub async fn resolve(
        &self,
        url: &Url,
        resolver: &Arc<dyn Resolver>,
    ) -> Result<Vec<SocketAddr>, Unusable> {
        let port = url.port_or_known_default().unwrap_or(80);
        let addresses = match url.host() {
            None => return Err(Refused::NoHost.into()),
            Some(Host::Ipv4(address)) => vec![address.into()],
            Some(Host::Ipv6(address)) => vec![address.into()],
            Some(Host::Domain(name)) => {
                let unresolved = |reason: String| Unusable::Unresolved { name: name.to_owned(), reason };
                let found = resolver.lookup(name).await.map_err(unresolved)?;
                if found.is_empty() {
                    return Err(unresolved("it has no address".to_owned()));
                }
                found
            }
        };
        for address in &addresses {
            self.check_address(*address)?;
        }
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }
}

/// The IPv4 address inside an IPv6 one: mapped, compatible, 6to4, NAT64 (well-known and local prefix).
fn carried_by(address: IpAddr) -> Option<IpAddr> {
    let IpAddr::V6(address) = address else { return None };
    let octets = address.octets();
    let at = |n: usize| Ipv4Addr::new(octets[n], octets[n + 1], octets[n + 2], octets[n + 3]);
    let inner = match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, _, _] => at(12),
        [0, 0, 0, 0, 0xffff, 0, _, _] => at(12),
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) > (0, 1) => at(12),
        [0x2002, ..] => at(2),
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] | [0x64, 0xff9b, 1, ..] => at(12),
        _ => return None,
    };
    Some(inner.into())
}

fn kind_of(address: IpAddr) -> Option<Kind> {
    match address {
        IpAddr::V4(address) => kind_of_v4(address),
        IpAddr::V6(address) => kind_of_v6(address),
    }
}

fn kind_of_v4(address: Ipv4Addr) -> Option<Kind> {
    let [a, b, c, _] = address.octets();
    Some(match (a, b) {
        (0, _) => Kind::Unspecified,
        (127, _) => Kind::Loopback,
        _ if address.is_private() => Kind::Private,
        (169, 254) => Kind::LinkLocal,
        (100, 64..=127) => Kind::CarrierGrade,
        (224..=239, _) => Kind::Multicast,
        (192, 0) if c == 0 => Kind::Reserved,
        (240..=255, _) | (198, 18 | 19) => Kind::Reserved,
        _ => return None,
    })
}

fn kind_of_v6(address: Ipv6Addr) -> Option<Kind> {
    let first = address.segments()[0];
    Some(match first {
        _ if address.is_unspecified() => Kind::Unspecified,
        _ if address.is_loopback() => Kind::Loopback,
        0xfc00..=0xfdff => Kind::Private,
        0xfe80..=0xfeff => Kind::LinkLocal,
        0xff00..=0xffff => Kind::Multicast,
        // Teredo hides an IPv4 address in a form that is not worth reading.
        0x2001 if address.segments()[1] == 0 => Kind::Reserved,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuses(policy: &Policy, url: &str) -> Option<Kind> {
        match policy.check_url(url) {
            Err(Refused::Address { kind, .. }) => Some(kind),
            Ok(_) => None,
            Err(other) => panic!("{url}: {other}"),
        }
    }

    #[test]
    fn every_spelling_of_an_inner_address_is_refused() {
        let closed = Policy::default();
        let loopback = [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f.1",
            "0x7f000001",
            "017700000001",
            "0177.0.0.01",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::127.0.0.1]",
            "[2002:7f00:1::]",
            "[64:ff9b::7f00:1]",
            "[64:ff9b:1::7f00:1]",
            "[::ffff:0:127.0.0.1]",
            "127.0.0.1.",
        ];
        for host in loopback {
            assert_eq!(refuses(&closed, &format!("http://{host}/x")), Some(Kind::Loopback), "{host}");
        }
        let others = [
            ("169.254.169.254", Kind::LinkLocal),
            ("[fe80::1]", Kind::LinkLocal),
            ("100.64.0.1", Kind::CarrierGrade),
            ("100.127.255.255", Kind::CarrierGrade),
            ("10.0.0.1", Kind::Private),
            ("172.31.0.1", Kind::Private),
            ("192.168.1.1", Kind::Private),
            ("[fd00:ec2::254]", Kind::Private),
            ("224.0.0.1", Kind::Multicast),
            ("[ff02::1]", Kind::Multicast),
            ("0.0.0.0", Kind::Unspecified),
            ("0", Kind::Unspecified),
            ("[::]", Kind::Unspecified),
            ("255.255.255.255", Kind::Reserved),
            ("192.0.0.1", Kind::Reserved),
            ("198.18.0.1", Kind::Reserved),
            ("[2001::1]", Kind::Reserved),
        ];
        for (host, kind) in others {
            assert_eq!(refuses(&closed, &format!("https://{host}")), Some(kind), "{host}");
        }
    }

    #[test]
    fn public_addresses_pass_and_so_do_neighbours_of_the_refused_ranges() {
        let closed = Policy::default();
        for host in [
            "8.8.8.8",
            "100.128.0.1",
            "172.32.0.1",
            "169.253.1.1",
            "192.0.1.1",
            "[2606:4700::1]",
            "[2002:808:808::]",
        ] {
            assert_eq!(refuses(&closed, &format!("http://{host}")), None, "{host}");
        }
    }

    #[test]
    fn what_is_allowed_is_allowed_and_nothing_else() {
        let policy = |texts: &[&str]| {
            Policy::parse(&texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>()).expect("good texts")
        };
        assert_eq!(refuses(&policy(&["loopback"]), "http://127.1"), None);
        assert_eq!(refuses(&policy(&["loopback"]), "http://[::ffff:127.0.0.1]"), None);
        assert_eq!(refuses(&policy(&["loopback"]), "http://10.0.0.1"), Some(Kind::Private));
        assert_eq!(refuses(&policy(&["private"]), "http://169.254.169.254"), Some(Kind::LinkLocal));
        assert_eq!(refuses(&policy(&["10.1.0.0/16"]), "http://10.1.2.3"), None);
        assert_eq!(refuses(&policy(&["10.1.0.0/16"]), "http://10.2.2.3"), Some(Kind::Private));
        assert!(Policy::parse(&["everything".to_owned()]).is_err());
    }

    #[test]
    fn urls_that_are_none_of_ours_are_refused_by_name() {
        let closed = Policy::default();
        for (url, expected) in [
            ("ftp://example.com", Refused::Scheme("ftp".into())),
            ("http://user@example.com", Refused::UserInfo),
            ("http://:pw@example.com", Refused::UserInfo),
        ] {
            assert_eq!(closed.check_url(url), Err(expected), "{url}");
        }
        for url in ["", "example.com/x", "http://", "http://a b", "https://example.com:port/"] {
            assert!(matches!(closed.check_url(url), Err(Refused::Unreadable(_))), "{url}");
        }
    }

    struct Answers(Vec<IpAddr>);

    impl Resolver for Answers {
        fn lookup(&self, _: &str) -> BoxFuture<'static, Result<Vec<IpAddr>, String>> {
            let answers = self.0.clone();
            Box::pin(async move { Ok(answers) })
        }
    }

    #[tokio::test]
    async fn one_refused_address_of_a_name_refuses_the_name() {
        let url = Url::parse("https://example.com/").expect("a URL");
        let ask = async |addresses: &[&str]| {
            let answers = addresses.iter().map(|a| a.parse().expect("an address")).collect();
            let resolver: Arc<dyn Resolver> = Arc::new(Answers(answers));
            Policy::default().resolve(&url, &resolver).await
        };
        assert_eq!(ask(&["8.8.8.8"]).await, Ok(vec!["8.8.8.8:443".parse().expect("an address")]));
        assert!(matches!(ask(&["8.8.8.8", "10.0.0.1"]).await, Err(Unusable::Refused(_))));
        assert!(matches!(ask(&[]).await, Err(Unusable::Unresolved { .. })));
    }
}
