//! The address a provider signed, which is the one it was given and never the `Host` header.

/// Where the public address of a source comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// The source's own, without its query, and that query.
    Own {
        before_query: String,
        query: Option<String>,
    },
    /// The relay's; the request's path and query are appended.
    Base(String),
    Unknown,
}

impl Address {
    pub(super) fn new(own: Option<&str>, base: Option<&str>) -> Result<Self, String> {
        if let Some(own) = own {
            absolute(own)?;
            let whole = own.split('#').next().unwrap_or_default();
            return Ok(match whole.split_once('?') {
                Some((before, query)) => {
                    Self::Own { before_query: before.to_owned(), query: Some(query.to_owned()) }
                }
                None => Self::Own { before_query: whole.to_owned(), query: None },
            });
        }
        match base {
            Some(base) => {
                absolute(base)?;
                Ok(Self::Base(base.trim_end_matches('/').to_owned()))
            }
            None => Ok(Self::Unknown),
        }
    }

    pub(super) fn is_known(&self) -> bool {
        *self != Self::Unknown
    }

    /// The whole address of a request, where it is known.
    pub(super) fn known(&self, target: &str) -> Option<String> {
        self.is_known().then(|| self.of(target))
    }

    /// The whole address of a request. The query is the request's: providers add to it.
    pub(super) fn of(&self, target: &str) -> String {
        match self {
            Self::Own { before_query, query } => {
                let sent = target.split_once('?').map(|(_, query)| query);
                match sent.or(query.as_deref()) {
                    Some(query) => format!("{before_query}?{query}"),
                    None => before_query.clone(),
                }
            }
            Self::Base(base) => format!("{base}{target}"),
            Self::Unknown => target.to_owned(),
        }
    }
}

fn absolute(text: &str) -> Result<(), String> {
    let url = url::Url::parse(text).map_err(|error| format!("is not an absolute URL: {error}"))?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() {
        Ok(())
    } else {
        Err("must begin with http:// or https:// and a host".into())
    }
}

/// Path and query of a whole address, as written in it.
pub(super) fn path_of(address: &str) -> &str {
    if address.starts_with('/') {
        return address;
    }
    let after_scheme = address.find("://").map_or(0, |at| at + 3);
    match address[after_scheme..].find(['/', '?']) {
        Some(at) => &address[after_scheme + at..],
        None => "/",
    }
}

/// What stands in front of that: scheme, host and port.
pub(super) fn origin_of(address: &str) -> &str {
    // One that is written without a path has one all the same.
    address.strip_suffix(path_of(address)).unwrap_or(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_address_takes_the_query_of_the_request() {
        let own = Address::new(Some("https://r.example/in/a?x=1"), None).unwrap();
        assert_eq!(own.of("/ingest/a"), "https://r.example/in/a?x=1");
        assert_eq!(own.of("/ingest/a?y=2"), "https://r.example/in/a?y=2");
    }

    #[test]
    fn a_base_takes_the_whole_target() {
        let base = Address::new(None, Some("https://r.example/")).unwrap();
        assert_eq!(base.of("/ingest/a?y=2"), "https://r.example/ingest/a?y=2");
        assert!(Address::new(None, Some("r.example")).is_err());
    }

    #[test]
    fn paths_are_cut_out_as_written() {
        assert_eq!(path_of("https://r.example/in/a?b=c"), "/in/a?b=c");
        assert_eq!(path_of("https://r.example"), "/");
        assert_eq!(path_of("/in?x=https://e/"), "/in?x=https://e/");
    }
}
