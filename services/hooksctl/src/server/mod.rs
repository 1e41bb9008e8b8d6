//! The services, from outside: where they are, who asks, and what their refusals mean.

mod failure;
mod fetch;
mod json_api;

pub use failure::{cause, refusal, unreachable};
pub use fetch::{Listed, Query};
pub use json_api::Pages;

use crate::commands::Usage;
use anyhow::{Context, Result};
use hooks_shared::Secret;
use std::time::Duration;
use url::Url;

/// Which service an endpoint is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Subscribe,
    Inspector,
    Ingest,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Role::Subscribe => "subscribe",
            Role::Inspector => "inspector",
            Role::Ingest => "ingest",
        }
    }

    pub fn flag(self) -> &'static str {
        match self {
            Role::Subscribe => "--server",
            Role::Inspector => "--inspector",
            Role::Ingest => "--ingest",
        }
    }

    pub fn variable(self) -> &'static str {
        match self {
            Role::Subscribe => "HOOKS_SERVER",
            Role::Inspector => "HOOKS_INSPECTOR",
            Role::Ingest => "HOOKS_INGEST",
        }
    }

    pub fn default_url(self) -> &'static str {
        match self {
            Role::Subscribe => "http://localhost:8081",
            Role::Inspector => "http://localhost:8082",
            Role::Ingest => "http://localhost:8080",
        }
    }

    /// Which token of `.hooks/tokens` it takes.
    pub fn token_name(self) -> &'static str {
        match self {
            Role::Subscribe | Role::Ingest => "listener",
            Role::Inspector => "admin",
        }
    }
}

/// A service's base URL, the token for it, and a client. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Endpoint {
    pub role: Role,
    pub base: Url,
    token: Option<Secret>,
    http: reqwest::Client,
}

impl Endpoint {
    pub fn new(role: Role, base: Url, token: Option<Secret>) -> Result<Self> {
        let http = reqwest::Client::builder()
            .user_agent(concat!("hooksctl/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(10))
            // A token must not follow a redirect to another place.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .context("the HTTP client cannot be set up")?;
        Ok(Self { role, base, token, http })
    }

    /// `base`'s own path, then `segments`, each escaped.
    pub fn url(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        url.set_query(None);
        url.set_fragment(None);
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }

    /// The same place, asked by somebody else.
    pub fn with_token(&self, token: Secret) -> Self {
        Self { token: Some(token), ..self.clone() }
    }

    pub fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// A request with the token; an error that says how to get one where there is none.
    pub fn request(&self, method: reqwest::Method, url: Url) -> Result<reqwest::RequestBuilder> {
        let token = self.token.as_ref().ok_or_else(|| Usage(no_token(self.role)))?;
        Ok(self.http.request(method, url).bearer_auth(token.expose()))
    }

    /// A request without the token, for what is open to everybody.
    pub fn open_request(&self, method: reqwest::Method, url: Url) -> reqwest::RequestBuilder {
        self.http.request(method, url)
    }
}

fn no_token(role: Role) -> String {
    let make = match role {
        Role::Inspector => "hooksctl token create --kind pat --scope admin --name me",
        _ => "hooksctl token create --scope SOURCE --name me",
    };
    format!(
        "no token for the {} service: set HOOKS_TOKEN (an administrator makes one with `{make}`)",
        role.name()
    )
}
