//! The URL given with `--to`.

use crate::commands::Usage;
use hooks_shared::http1::target_of;
use url::Url;

/// An http or https URL, taken apart once.
#[derive(Debug, Clone)]
pub struct Target {
    url: Url,
    /// The name or address to connect to.
    pub host: String,
    pub port: u16,
    pub tls: bool,
    /// The `Host` header's value.
    pub authority: String,
}

impl Target {
    pub fn parse(text: &str) -> Result<Self, Usage> {
        let bad = |why: &str| {
            Usage(format!("--to is `{text}`, {why}; write one such as http://localhost:3000/webhooks"))
        };
        let url = Url::parse(text).map_err(|_| bad("which is not a URL"))?;
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return Err(bad("which is not an http or https URL")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Usage(
                "--to must not hold a user or password: the request is sent as it was received".to_owned(),
            ));
        }
        let host = url.host_str().ok_or_else(|| bad("which names no host"))?;
        let port = url.port_or_known_default().ok_or_else(|| bad("which names no port"))?;
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self { host, port, tls, authority, url })
    }

    /// The whole URL, for schemes that sign it.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Path and query, as they stand in the request line.
    pub fn path(&self) -> String {
        target_of(&self.url)
    }

    /// Without the query, which may hold a secret.
    pub fn shown(&self) -> String {
        let mut url = self.url.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let target = Target::parse("http://localhost:3000/a%2Fb?token=x#f").expect("a URL");
        assert_eq!(target.authority, "localhost:3000");
        assert_eq!(target.path(), "/a%2Fb?token=x");
        assert_eq!(target.shown(), "http://localhost:3000/a%2Fb");
        let target = Target::parse("https://[::1]").expect("a URL");
        assert_eq!((target.host.as_str(), target.port, target.tls), ("::1", 443, true));
        assert_eq!((target.authority.as_str(), target.path().as_str()), ("[::1]", "/"));
    }

    #[test]
    fn what_cannot_be_a_target_says_what_one_looks_like() {
        for text in ["localhost:3000", "3000", "ftp://x", "http://", "http://user:hunter2@x"] {
            let error = Target::parse(text).expect_err(text).to_string();
            assert!(error.contains("--to"), "{error}");
        }
        assert!(!Target::parse("http://u:hunter2@x").expect_err("user").to_string().contains("hunter2"));
    }
}
