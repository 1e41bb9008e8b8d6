//! Connection strings. libpq's options for TLS are read here, because the client library knows only some of
//! them and refuses the others; everything else is passed on.

use super::tls::{self, Trust};
use crate::Secret;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Where a database is and how it is spoken to. `Debug` shows no password.
#[derive(Clone)]
pub struct Target {
    pub(super) config: tokio_postgres::Config,
    pub(super) tls: MakeRustlsConnect,
    password_file: Option<PathBuf>,
}

/// Why a connection string cannot be used. Never contains the string itself, which holds a password.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct UrlError(String);

/// What of a connection string is ours and not the client library's.
#[derive(Debug, Default)]
struct OwnOptions {
    mode: Option<String>,
    root_cert: Option<PathBuf>,
    password_file: Option<PathBuf>,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target").field("hosts", &self.config.get_hosts()).finish_non_exhaustive()
    }
}

impl Target {
    /// Reads `postgres://…` or `key=value …`. With several hosts the one that accepts writes is chosen.
    pub fn parse(text: &Secret) -> Result<Self, UrlError> {
        let (rest, options) = split_own_options(text.expose())?;
        let mut config = tokio_postgres::Config::from_str(&rest)
            .map_err(|error| UrlError(format!("the database URL cannot be read: {}", reason(&error))))?;
        if config.get_hosts().is_empty() {
            return Err(UrlError("the database URL names no host".to_owned()));
        }
        if config.get_hosts().len() > 1 {
            config.target_session_attrs(tokio_postgres::config::TargetSessionAttrs::ReadWrite);
        }
        let trust = apply_mode(&mut config, options.mode.as_deref())?;
        let tls = MakeRustlsConnect::new(tls::config(trust, options.root_cert).map_err(UrlError)?);
        let password_file = options.password_file;
        if let Some(path) = &password_file {
            read_password(path)
                .map_err(|why| UrlError(format!("password_file `{}`: {why}", path.display())))?;
        }
        Ok(Self { config, tls, password_file })
    }

    /// `host:port/database` of the first host, for messages: no user, no password.
    pub fn describe(&self) -> String {
        use tokio_postgres::config::Host;
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            #[cfg(unix)]
            Some(Host::Unix(path)) => path.display().to_string(),
            _ => "?".to_owned(),
        };
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        format!("{host}:{port}/{}", self.config.get_dbname().unwrap_or_default())
    }

    /// The password as its file has it now, for each new connection: whoever rotates it writes the file and
    /// restarts nothing. None where the string names no file; a file that is away is said in the log.
    pub(super) fn password(&self) -> Option<Secret> {
        let path = self.password_file.as_deref()?;
        read_password(path)
            .inspect_err(
                |why| log::warn!(path:% = path.display(), why; "the database's password cannot be read"),
            )
            .ok()
    }

    pub fn user(&self) -> Option<&str> {
        self.config.get_user()
    }
}

/// One line end at the end of the file is not part of the password.
fn read_password(path: &Path) -> Result<Secret, String> {
    let text = Secret::new(std::fs::read_to_string(path).map_err(|error| error.to_string())?);
    match text.expose().strip_suffix('\n').unwrap_or(text.expose()) {
        "" => Err("is empty".to_owned()),
        password => Ok(Secret::new(password)),
    }
}

fn reason(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    error.source().map_or_else(|| error.to_string(), |source| source.to_string())
}

/// Takes `sslmode`, `sslrootcert` and `password_file` (and the libpq options without a counterpart) out of the string.
fn split_own_options(text: &str) -> Result<(String, OwnOptions), UrlError> {
    let mut options = OwnOptions::default();
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        let Some((base, query)) = text.split_once('?') else { return Ok((text.to_owned(), options)) };
        let mut kept = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_encoding::percent_decode_str(value).decode_utf8_lossy().into_owned();
            if !options.take(key, value)? {
                kept.push(pair);
            }
        }
        let rest = if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) };
        return Ok((rest, options));
    }
    if !text.contains('=') {
        return Err(UrlError(
            "the database URL must look like postgres://user:password@host:5432/database".to_owned(),
        ));
    }
    let mut kept = Vec::new();
    for word in text.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        if !options.take(key, value.trim_matches('\'').to_owned())? {
            kept.push(word);
        }
    }
    Ok((kept.join(" "), options))
}

impl OwnOptions {
    /// True when the option was one of ours and is not passed on.
    fn take(&mut self, key: &str, value: String) -> Result<bool, UrlError> {
        match key {
            "sslmode" => self.mode = Some(value),
            "sslrootcert" if value == "system" => self.root_cert = None,
            "sslrootcert" => self.root_cert = Some(PathBuf::from(value)),
            "password_file" => self.password_file = Some(PathBuf::from(value)),
            "sslcert" | "sslkey" | "sslpassword" | "sslcrl" => {
                return Err(UrlError(format!(
                    "the database URL's option {key} is not supported: use a password"
                )));
            }
            "gssencmode" | "sslsni" | "sslcompression" | "fallback_application_name" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn apply_mode(config: &mut tokio_postgres::Config, mode: Option<&str>) -> Result<Trust, UrlError> {
    let (ssl, trust) = match mode {
        None | Some("prefer") | Some("allow") => (SslMode::Prefer, Trust::Anything),
        Some("disable") => (SslMode::Disable, Trust::Anything),
        Some("require") => (SslMode::Require, Trust::Anything),
        Some("verify-ca") => (SslMode::Require, Trust::Chain),
        Some("verify-full") => (SslMode::Require, Trust::ChainAndName),
        Some(other) => {
            return Err(UrlError(format!(
                "sslmode `{other}` is not known: use disable, prefer, require, verify-ca or verify-full"
            )));
        }
    };
    config.ssl_mode(ssl);
    Ok(trust)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Target, UrlError> {
        Target::parse(&Secret::new(text))
    }

    #[test]
    fn every_sslmode_of_libpq_is_read() {
        for mode in ["disable", "prefer", "allow", "require", "verify-ca", "verify-full"] {
            let target = parse(&format!("postgres://u:p@db:5433/x?sslmode={mode}")).expect(mode);
            assert_eq!(target.describe(), "db:5433/x");
        }
        assert!(parse("postgres://u:p@db/x?sslmode=sometimes").is_err());
        assert!(parse("host=db user=u dbname=x sslmode=verify-full").is_ok());
    }

    #[test]
    fn an_error_never_repeats_the_password() {
        for text in
            ["postgres://u:hunter2@db:port/x", "hunter2", "postgres://u:hunter2@db/x?nonsense=hunter2"]
        {
            let error = parse(text).expect_err(text).to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
        let target = parse("postgres://u:hunter2@db/x").expect("a good one");
        assert!(!format!("{target:?} {}", target.describe()).contains("hunter2"));
    }

    #[test]
    fn a_root_certificate_that_is_not_there_is_named() {
        let error =
            parse("postgres://u@db/x?sslmode=verify-full&sslrootcert=/nowhere/ca.pem").expect_err("missing");
        assert!(error.to_string().contains("/nowhere/ca.pem"), "{error}");
    }

    #[test]
    fn a_password_file_is_read_again_for_each_connection() {
        let file = std::env::temp_dir().join(format!("hooks-password-{}", std::process::id()));
        let url = format!("postgres://u@db/x?password_file={}", file.display());
        assert!(parse(&url).is_err(), "a file that is not there is told at once");
        for password in ["first", "second\n"] {
            std::fs::write(&file, password).expect("written");
            let target = parse(&url).expect("readable");
            assert_eq!(target.password(), Some(Secret::new(password.trim_end())));
            std::fs::write(&file, "third\n").expect("written");
            assert_eq!(target.password(), Some(Secret::new("third")));
        }
        std::fs::remove_file(&file).expect("removed");
    }

    #[test]
    fn several_hosts_are_one_target() {
        assert_eq!(parse("postgres://u@a:1,b:2/x").map(|t| t.config.get_hosts().len()), Ok(2));
    }
}
