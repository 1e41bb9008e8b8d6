//! The options every command takes: which services to talk to, and as whom.

use crate::commands::Usage;
use crate::dev_folder::DevFolder;
use crate::server::{Endpoint, Role};
use anyhow::Result;
use hooks_shared::Secret;
use url::Url;

/// Global options. Each has a variable, so that scripts and shells set it once.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// The subscribe service (HOOKS_SERVER; without both http://localhost:8081)
    #[arg(long, global = true, env = "HOOKS_SERVER", value_name = "URL", hide_env = true)]
    pub server: Option<String>,
    /// The inspector's API (HOOKS_INSPECTOR; without both http://localhost:8082)
    #[arg(long, global = true, env = "HOOKS_INSPECTOR", value_name = "URL", hide_env = true)]
    pub inspector: Option<String>,
    /// The ingest service (HOOKS_INGEST; without both http://localhost:8080)
    #[arg(long, global = true, env = "HOOKS_INGEST", value_name = "URL", hide_env = true)]
    pub ingest: Option<String>,
    /// The bearer token; better in HOOKS_TOKEN, since others on this machine can read command lines.
    /// Without both, the inspector gets that of `hooksctl login`, and on loopback a token that `hooksctl dev` left
    /// in .hooks/tokens is used
    #[arg(
        long,
        global = true,
        env = "HOOKS_TOKEN",
        value_name = "TOKEN",
        hide_env = true,
        hide_env_values = true
    )]
    pub token: Option<Secret>,
    /// One JSON object a line instead of text
    #[arg(long, global = true)]
    pub json: bool,
}

impl Global {
    /// The subscribe service with a listener's token.
    pub fn subscribe(&self) -> Result<Endpoint> {
        self.endpoint(Role::Subscribe)
    }

    /// The inspector with an administrator's token.
    pub fn inspector(&self) -> Result<Endpoint> {
        self.endpoint(Role::Inspector)
    }

    /// Ingest, which asks for no token.
    pub fn ingest(&self) -> Result<Endpoint> {
        self.endpoint(Role::Ingest)
    }

    fn endpoint(&self, role: Role) -> Result<Endpoint> {
        let given = match role {
            Role::Subscribe => &self.server,
            Role::Inspector => &self.inspector,
            Role::Ingest => &self.ingest,
        };
        let folder = DevFolder::find();
        let text = match given.as_deref().filter(|text| !text.is_empty()) {
            Some(text) => text.to_owned(),
            None => folder
                .as_ref()
                .and_then(|folder| folder.url(role.name()))
                .unwrap_or_else(|| role.default_url().to_owned()),
        };
        let base = base_url(role, &text)?;
        let token = self.token.clone().filter(|token| !token.is_empty());
        let login = || crate::logins::find(&base);
        let token = match (token.or_else(|| if role == Role::Inspector { login() } else { None }), role) {
            (Some(token), _) => Some(token),
            (None, Role::Ingest) => None,
            (None, _) if is_loopback(&base) => folder.and_then(|folder| folder.token(role.token_name())),
            (None, _) => None,
        };
        Endpoint::new(role, base, token)
    }
}

fn base_url(role: Role, text: &str) -> Result<Url> {
    let bad = |why: &str| {
        Usage(format!(
            "{} ({}) is `{text}`, {why}; write one such as {}",
            role.flag(),
            role.variable(),
            role.default_url()
        ))
    };
    let url = Url::parse(text).map_err(|_| bad("which is not a URL"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad("which is not an http or https URL").into());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Usage(format!(
            "{} ({}) must not hold a user or password; the token goes into HOOKS_TOKEN",
            role.flag(),
            role.variable()
        ))
        .into());
    }
    Ok(url)
}

/// True where only this machine can answer: a token from a file is not sent anywhere else by itself.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        for (text, expected) in [
            ("http://localhost:8081", true),
            ("http://127.0.0.9", true),
            ("http://[::1]:1", true),
            ("http://localhost.example.com", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(text).expect(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_bad_url_names_flag_and_variable() {
        for text in ["localhost:8081", "ftp://x", "nonsense", "http://u:hunter2@x"] {
            let error = base_url(Role::Subscribe, text).expect_err(text).to_string();
            assert!(error.contains("--server") && error.contains("HOOKS_SERVER"), "{error}");
        }
        let error = base_url(Role::Ingest, "http://u:hunter2@x").expect_err("a password").to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
