//! One provider endpoint of `hooks.yaml`.

use super::table::Table;
use super::{DEFAULT_SKEW, values};
use crate::Secret;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// How long an event is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    For(Duration),
    Forever,
}

impl Default for Retention {
    fn default() -> Self {
        Retention::For(Duration::from_secs(30 * 86_400))
    }
}

impl Retention {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "forever" {
            return Ok(Retention::Forever);
        }
        match values::duration(text)? {
            kept if kept < Duration::from_secs(60) => {
                Err(format!("`{text}` is too short: at least 1m, or `forever`"))
            }
            kept => Ok(Retention::For(kept)),
        }
    }
}

/// For how long a second request with the same dedupe key counts as the same event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DedupeWindow {
    For(Duration),
    Off,
}

impl DedupeWindow {
    /// Built-in default where the scheme names an id or signs a time.
    pub const DEFAULT: DedupeWindow = DedupeWindow::For(Duration::from_secs(24 * 3600));
    /// Default where neither an id nor a signed time tells two equal bodies apart.
    pub const BODY_ONLY: DedupeWindow = DedupeWindow::For(Duration::from_secs(300));

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(DedupeWindow::Off);
        }
        match values::duration(text)? {
            window if window > Duration::from_secs(72 * 3600) => {
                Err(format!("`{text}` is too long: at most 72h, or `off`"))
            }
            window if window < Duration::from_secs(1) => {
                Err(format!("`{text}` is too short: at least 1s, or `off`"))
            }
            window => Ok(DedupeWindow::For(window)),
        }
    }
}

/// A source as it stands in the file. What its verifier means is decided by [`crate::verify`].
#[derive(Debug, Clone)]
pub struct Source {
    pub name: String,
    /// A preset name, a mapping or a list of mappings.
    pub verifier: Value,
    /// Empty for the services that never verify.
    pub secrets: Vec<Secret>,
    /// The source's own window, when set and not zero.
    pub skew_window: Option<Duration>,
    /// The top level's window, when set and not zero.
    pub default_skew: Option<Duration>,
    /// The source's own window, if it has one.
    pub dedupe_window: Option<DedupeWindow>,
    /// The top level's window, if it has one.
    pub default_dedupe: Option<DedupeWindow>,
    pub retention: Retention,
    /// The source's own limit, bytes.
    pub body_size_limit: Option<u64>,
    /// The top level's limit, bytes.
    pub default_body_limit: Option<u64>,
    pub methods: Vec<String>,
    pub public_url: Option<String>,
    pub verify_token: Option<Secret>,
    pub allowed_origins: Vec<String>,
    pub paused: bool,
    pub ack: Option<Value>,
    pub refuse: Option<Value>,
    pub record_rejected: bool,
    pub(super) skew_window_is_zero: bool,
}

impl Source {
    /// Where ingest takes this source's events.
    pub fn path(&self) -> String {
        format!("/ingest/{}", self.name)
    }

    /// What the verifier is compiled from: the source's own keys and what the top level adds. One function,
    /// so that `hooksctl sources check` and ingest never disagree.
    pub fn verification(&self, config: &super::Config) -> crate::verify::Settings {
        crate::verify::Settings {
            verifier: self.verifier.clone(),
            secrets: self.secrets.clone(),
            skew_window: self.skew_window,
            default_skew: self.default_skew,
            public_url: self.public_url.clone(),
            base_url: config.public_url.clone(),
            verify_token: self.verify_token.clone(),
            allowed_origins: self.allowed_origins.clone(),
            ack: self.ack.clone(),
            refuse: self.refuse.clone(),
            ..crate::verify::Settings::default()
        }
    }
}

/// The window within which a provider's time is fresh: the source's own, else the verifier's `max_age`, else
/// the top level's, else five minutes. Ingest enforces it and the first drain of a listener filters by it, so
/// both call this one function. Zero never means off (services/subscribe/README.md, "Catch-up").
pub fn effective_skew(source: &Source, verifier_max_age: Option<Duration>) -> Duration {
    source.skew_window.or(verifier_max_age).or(source.default_skew).unwrap_or(DEFAULT_SKEW)
}

/// For how long a repeat counts as the same event: the source's own window; else five minutes where only the
/// body tells events apart; else the top level's; else a day. Ingest keeps to it, `hooksctl` shows it.
pub fn effective_dedupe(
    own: Option<DedupeWindow>,
    default: Option<DedupeWindow>,
    body_only: bool,
) -> DedupeWindow {
    match own {
        Some(window) => window,
        None if body_only => DedupeWindow::BODY_ONLY,
        None => default.unwrap_or(DedupeWindow::DEFAULT),
    }
}

pub(super) struct Defaults {
    pub body_size_limit: Option<u64>,
    pub dedupe_window: Option<DedupeWindow>,
    pub skew_window: Option<Duration>,
    pub retention: Retention,
}

pub(super) struct Read<'a> {
    pub name: &'a str,
    pub defaults: &'a Defaults,
    pub folder: &'a Path,
    pub with_secrets: bool,
}

impl Read<'_> {
    pub fn source(&self, table: Table<'_>) -> Source {
        let verifier = match table.raw("verifier") {
            Some(raw) if self.with_secrets => table.value("verifier").unwrap_or_else(|| raw.clone()),
            Some(raw) => raw.clone(),
            None => {
                table.fault("verifier", "is missing: name a preset such as `github`, or write a mapping");
                Value::Null
            }
        };
        let secrets = if self.with_secrets { self.secrets(&table) } else { Vec::new() };
        let verify_token = if self.with_secrets { table.text("verify_token").map(Secret::new) } else { None };
        table.skip(&["secret", "secrets", "secret_file", "verify_token"]);
        let written_skew = table.duration("skew_window");
        let source = Source {
            name: self.name.to_owned(),
            verifier,
            secrets,
            skew_window: written_skew.filter(|skew| !skew.is_zero()),
            default_skew: self.defaults.skew_window,
            dedupe_window: table.parsed("dedupe_window", DedupeWindow::parse),
            default_dedupe: self.defaults.dedupe_window,
            retention: table.parsed("retention", Retention::parse).unwrap_or(self.defaults.retention),
            body_size_limit: table.size("body_size_limit"),
            default_body_limit: self.defaults.body_size_limit,
            methods: methods(&table),
            public_url: table.parsed("public_url", super::absolute_url),
            verify_token,
            allowed_origins: table.texts("allowed_origins").unwrap_or_default(),
            paused: table.flag("paused").unwrap_or(false),
            ack: table.value("ack"),
            refuse: table.value("refuse"),
            record_rejected: table.flag("record_rejected").unwrap_or(true),
            skew_window_is_zero: written_skew.is_some_and(|skew| skew.is_zero()),
        };
        table.finish();
        source
    }

    fn secrets(&self, table: &Table<'_>) -> Vec<Secret> {
        let given = ["secret", "secrets", "secret_file"].iter().filter(|key| table.has(key)).count();
        if given > 1 {
            table.fault("secret", "give one of secret, secrets and secret_file, not several");
        }
        if table.has("secret") {
            table.text("secret").map(|text| vec![self.checked(table, "secret", text)]).unwrap_or_default()
        } else if table.has("secrets") {
            let texts = table.texts("secrets").unwrap_or_default();
            if texts.is_empty() {
                table.fault("secrets", "is empty: name at least one secret");
            }
            let named = texts.into_iter().enumerate();
            named.map(|(index, text)| self.checked(table, &format!("secrets[{index}]"), text)).collect()
        } else if table.has("secret_file") {
            table.text("secret_file").map(|path| self.secret_file(table, &path)).unwrap_or_default()
        } else {
            Vec::new()
        }
    }

    fn checked(&self, table: &Table<'_>, key: &str, text: String) -> Secret {
        if text.is_empty() {
            table.fault(
                key,
                "is empty: put the provider's signing secret here, or in a variable it refers to",
            );
        }
        Secret::new(text)
    }

    /// A file with one secret; one line end at its end is not part of it.
    fn secret_file(&self, table: &Table<'_>, path: &str) -> Vec<Secret> {
        match std::fs::read_to_string(self.folder.join(path)) {
            Ok(text) => {
                let text =
                    text.strip_suffix('\n').map(|t| t.strip_suffix('\r').unwrap_or(t)).unwrap_or(&text);
                vec![self.checked(table, "secret_file", text.to_owned())]
            }
            Err(error) => {
                table.fault("secret_file", format!("`{path}` cannot be read: {error}"));
                Vec::new()
            }
        }
    }
}

fn methods(table: &Table<'_>) -> Vec<String> {
    let Some(methods) = table.texts("methods") else { return vec!["POST".to_owned(), "PUT".to_owned()] };
    if methods.is_empty() {
        table.fault("methods", "is empty: name at least one HTTP method");
    }
    for method in &methods {
        if method.is_empty() || !method.bytes().all(|b| b.is_ascii_uppercase() || b == b'-') {
            table.fault("methods", format!("`{method}` is not an HTTP method in capital letters"));
        }
    }
    methods
}

/// Lower-case letters, digits, `_` and `-`, starting with a letter or digit, at most 63.
pub fn check_name(name: &str) -> Result<(), String> {
    let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let fits = name.len() <= 63
        && name.bytes().next().is_some_and(good)
        && name.bytes().all(|b| good(b) || b == b'_' || b == b'-');
    if fits {
        return Ok(());
    }
    if name.starts_with("hooks.") {
        return Err("names that begin with `hooks.` belong to the relay itself".to_owned());
    }
    Err(format!(
        "`{name}` is not a source name: use lower-case letters, digits, _ and -, starting with a letter or digit, at most 63"
    ))
}
