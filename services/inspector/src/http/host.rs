//! Names under which the page may be reached. Without this check any web page could reach an inspector on somebody's
//! machine, by a name that it lets point to 127.0.0.1.

use hooks_shared::Config;
use std::net::IpAddr;
use url::Url;

/// The name of a `Host` value, without its port; None where it is none.
fn name_of(host: &str) -> Option<String> {
    let url = Url::parse(&format!("http://{host}/")).ok()?;
    let plain = url.path() == "/"
        && url.query().is_none()
        && url.username().is_empty()
        && !host.contains(['/', '?', '#', '@', '\\']);
    plain.then(|| url.host_str().map(str::to_ascii_lowercase)).flatten()
}

/// Loopback, `inspector.hosts`, and the host of `public_url`.
pub fn is_allowed_host(host: &str, config: &Config) -> bool {
    let Some(name) = name_of(host) else { return false };
    if is_loopback(&name) || config.inspector.hosts.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
        return true;
    }
    let public = config.public_url.as_deref().and_then(|url| Url::parse(url).ok());
    public.as_ref().and_then(Url::host_str).is_some_and(|known| known.eq_ignore_ascii_case(&name))
}

fn is_loopback(name: &str) -> bool {
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether the URL of an `Origin` or `Referer` is of this host; port 80 and 443 may be left out.
pub fn same_host(url: &str, host: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let Some(name) = url.host_str() else { return false };
    if !matches!(url.scheme(), "http" | "https")
        || name_of(host).as_deref() != Some(&name.to_ascii_lowercase())
    {
        return false;
    }
    let given = Url::parse(&format!("{}://{host}/", url.scheme())).ok();
    given.and_then(|given| given.port_or_known_default()) == url.port_or_known_default()
}

/// Whether the browser came over TLS: the trusted proxy says so, or `public_url` of this host does.
pub fn is_https(
    host: &str,
    forwarded_proto: Option<&str>,
    from_trusted_proxy: bool,
    config: &Config,
) -> bool {
    if from_trusted_proxy && let Some(proto) = forwarded_proto {
        return proto.split(',').next_back().is_some_and(|last| last.trim().eq_ignore_ascii_case("https"));
    }
    let public = config.public_url.as_deref().and_then(|url| Url::parse(url).ok());
    public.is_some_and(|url| {
        url.scheme() == "https"
            && url
                .host_str()
                .is_some_and(|known| name_of(host).as_deref() == Some(&known.to_ascii_lowercase()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_out_of_hosts() {
        assert_eq!(name_of("LOCALHOST:8082").as_deref(), Some("localhost"));
        assert_eq!(name_of("[::1]:80").as_deref(), Some("[::1]"));
        for bad in ["", "a/b", "evil@localhost", "localhost#x", "localhost\\x"] {
            assert_eq!(name_of(bad), None, "{bad}");
        }
        assert!(is_loopback("127.3.4.5") && is_loopback("[::1]") && !is_loopback("localhost.evil.com"));
    }

    #[test]
    fn an_origin_is_compared_with_its_port() {
        assert!(same_host("http://localhost:8082", "localhost:8082"));
        assert!(same_host("https://hooks.example.com", "hooks.example.com:443"));
        for (url, host) in [
            ("null", "localhost"),
            ("http://localhost:1", "localhost:2"),
            ("http://evil.com", "localhost"),
            ("http://localhost.evil.com", "localhost"),
        ] {
            assert!(!same_host(url, host), "{url} {host}");
        }
    }
}
