//! `hooks.yaml`: one file for all services, read into a validated value. Each service resolves only the
//! environment references it needs, so a worker neither needs nor sees a provider's secret. Every fault
//! is reported at once, each with its key path and, where it can be found, its line.

mod push;
mod settings;
mod source;
mod table;
mod values;
mod yaml;

#[cfg(test)]
mod tests;

pub use push::{PushSettings, RetrySchedule};
pub use settings::{IngestSettings, InspectorSettings, SubscribeSettings};
pub use source::{DedupeWindow, Retention, Source, effective_dedupe, effective_skew};
pub use table::Fault;
pub use values::{Env, duration as parse_duration, size as parse_size};

use crate::Secret;
use ipnet::IpNet;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use table::{Faults, Table};

/// Built-in default of `skew_window`.
pub const DEFAULT_SKEW: Duration = Duration::from_secs(300);
/// Built-in default of `body_size_limit`, bytes.
pub const DEFAULT_BODY_LIMIT: u64 = 1 << 20;
/// The built-in source of the relay's own events.
pub const SYSTEM_SOURCE: &str = "hooks.system";

/// Who reads the configuration; decides which keys are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    Ingest,
    Subscribe,
    PushWorker,
    Inspector,
    Hooksctl,
}

impl Service {
    /// The environment variable with this service's own database URL.
    pub fn database_variable(self) -> Option<&'static str> {
        match self {
            Service::Ingest => Some("HOOKS_INGEST_DATABASE_URL"),
            Service::Subscribe => Some("HOOKS_SUBSCRIBE_DATABASE_URL"),
            Service::PushWorker => Some("HOOKS_PUSH_WORKER_DATABASE_URL"),
            Service::Inspector => Some("HOOKS_INSPECTOR_DATABASE_URL"),
            Service::Hooksctl => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Service::Ingest => "ingest",
            Service::Subscribe => "subscribe",
            Service::PushWorker => "push-worker",
            Service::Inspector => "inspector",
            Service::Hooksctl => "hooksctl",
        }
    }

    fn needs_secrets(self) -> bool {
        matches!(self, Service::Ingest | Service::Hooksctl)
    }
}

/// How LISTEN reaches the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// Over `database_url`.
    Same,
    /// Over an own URL that bypasses a transaction pooler.
    Url(Secret),
    /// Not at all: polling only.
    Off,
}

/// The whole configuration as one service needs it.
#[derive(Debug, Clone)]
pub struct Config {
    pub database_url: Secret,
    pub listen: Listen,
    pub public_url: Option<String>,
    pub trusted_proxies: Vec<IpNet>,
    pub sources: BTreeMap<String, Source>,
    pub ingest: IngestSettings,
    pub subscribe: SubscribeSettings,
    pub inspector: InspectorSettings,
    pub push: PushSettings,
    /// Top level `retention`: of sources that the file does not name, `hooks.system` among them.
    pub retention: Retention,
    /// `HOOKS_MAINTENANCE_DATABASE_URL`, for the push-worker and hooksctl: a role that owns the tables.
    pub maintenance_url: Option<Secret>,
    /// First 16 hex digits of the file's SHA-256; services publish it so that `doctor` can compare.
    pub hash: String,
    /// Things that are allowed but probably not meant; logged at start.
    pub warnings: Vec<String>,
}

/// All that is wrong with a configuration file.
#[derive(Debug)]
pub struct ConfigError {
    pub file: String,
    pub faults: Vec<(Option<usize>, Fault)>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.faults.len();
        write!(f, "{count} fault{} in the configuration:", if count == 1 { "" } else { "s" })?;
        for (line, fault) in &self.faults {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            let key = if fault.key.is_empty() { String::new() } else { format!("{}: ", fault.key) };
            write!(f, "\n  {}{line}: {key}{}", self.file, fault.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// Reads the file at `path` for `service`, with this process's environment.
pub fn load(path: &Path, service: Service) -> Result<Config, ConfigError> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError {
        file: file.clone(),
        faults: vec![(
            None,
            Fault {
                key: String::new(),
                message: format!("cannot be read: {error}; name another file with --config or HOOKS_CONFIG, or write one (`hooksctl dev` makes a first)"),
            },
        )],
    })?;
    let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
    parse(&file, &text, &folder, service, &|name| std::env::var(name).ok())
}

/// Bytes of the longest piece of YAML; a verifier has a few hundred.
const PIECE: usize = 256 * 1024;

/// Reads a piece of YAML that is no whole configuration, such as one verifier.
///
/// # Errors
/// Why it is not YAML, and in which line; that it is longer than such a piece may be.
pub fn parse_yaml(text: &str) -> Result<serde_json::Value, String> {
    if text.len() > PIECE {
        return Err(format!(
            "has {} bytes, and a piece of configuration may have {PIECE}: shorten it",
            text.len()
        ));
    }
    yaml::parse(text).map_err(|fault| match fault.line {
        Some(line) => format!("line {line}: {}", fault.message),
        None => fault.message,
    })
}

/// Reads a configuration text. `folder` is where relative `secret_file` paths start.
pub fn parse(
    file: &str,
    text: &str,
    folder: &Path,
    service: Service,
    env: Env<'_>,
) -> Result<Config, ConfigError> {
    let tree = yaml::parse(text).map_err(|fault| ConfigError {
        file: file.to_owned(),
        faults: vec![(fault.line, Fault { key: String::new(), message: fault.message })],
    })?;
    let faults = Faults::default();
    let root = Table::new("", Some(&tree), env, &faults);
    let reader = Reader { service, folder: folder.to_path_buf(), faults: &faults };
    let mut config = reader.read(root);
    config.hash = hex::encode(&Sha256::digest(text.as_bytes())[..8]);
    let faults = faults.into_vec();
    if faults.is_empty() {
        return Ok(config);
    }
    Err(ConfigError {
        file: file.to_owned(),
        faults: faults.into_iter().map(|fault| (yaml::line_of(text, &fault.key), fault)).collect(),
    })
}

struct Reader<'a> {
    service: Service,
    folder: PathBuf,
    faults: &'a Faults,
}

impl Reader<'_> {
    fn read(&self, root: Table<'_>) -> Config {
        let (database_url, listen) = self.database(&root);
        let defaults = source::Defaults {
            body_size_limit: root.size("body_size_limit"),
            dedupe_window: root.parsed("dedupe_window", DedupeWindow::parse),
            skew_window: root.duration("skew_window").filter(|skew| !skew.is_zero()),
            retention: root.parsed("retention", Retention::parse).unwrap_or_default(),
        };
        let public_url = root.parsed("public_url", absolute_url);
        let trusted_proxies = networks(&root, "trusted_proxies");
        let sources = self.sources(&root, &defaults);
        let ingest = IngestSettings::read(root.table("ingest"));
        let subscribe = SubscribeSettings::read(root.table("subscribe"));
        let inspector = InspectorSettings::read(root.table("inspector"));
        let push = PushSettings::read(root.table("push"), &defaults.retention);
        let maintenance_url = self.maintenance_url(root.env());
        root.finish();
        let warnings = warnings(&sources);
        Config {
            database_url,
            listen,
            public_url,
            trusted_proxies,
            sources,
            ingest,
            subscribe,
            inspector,
            push,
            retention: defaults.retention,
            maintenance_url,
            hash: String::new(),
            warnings,
        }
    }

    /// The service's own variable wins, then the key, then `HOOKS_DATABASE_URL`.
    fn database(&self, root: &Table<'_>) -> (Secret, Listen) {
        let env = root.env();
        let own = self.service.database_variable().and_then(env).filter(|url| !url.is_empty());
        let url = match own {
            Some(url) => {
                root.skip(&["database_url"]);
                Some(url)
            }
            None if root.has("database_url") => root.text("database_url"),
            None => {
                root.skip(&["database_url"]);
                env("HOOKS_DATABASE_URL").filter(|url| !url.is_empty())
            }
        };
        if url.is_none() && !root.has("database_url") && self.service != Service::Hooksctl {
            let own = self.service.database_variable().unwrap_or("HOOKS_DATABASE_URL");
            root.fault(
                "database_url",
                format!(
                    "is missing: set it here, or set the environment variable {own} or HOOKS_DATABASE_URL"
                ),
            );
        }
        let listen = match root.text("listen_database_url").as_deref() {
            None | Some("") => Listen::Same,
            Some("off") => Listen::Off,
            Some(url) => Listen::Url(Secret::new(url)),
        };
        (Secret::new(url.unwrap_or_default()), listen)
    }

    fn maintenance_url(&self, env: Env<'_>) -> Option<Secret> {
        matches!(self.service, Service::PushWorker | Service::Hooksctl)
            .then(|| env("HOOKS_MAINTENANCE_DATABASE_URL"))
            .flatten()
            .filter(|url| !url.is_empty())
            .map(Secret::new)
    }

    fn sources(&self, root: &Table<'_>, defaults: &source::Defaults) -> BTreeMap<String, Source> {
        let mut sources = BTreeMap::new();
        match root.raw("sources") {
            None => root.fault("sources", "is missing: name at least one source"),
            Some(serde_json::Value::Object(map)) => {
                if map.is_empty() {
                    root.fault("sources", "is empty: name at least one source");
                }
                for (name, value) in map {
                    if let Err(message) = source::check_name(name) {
                        self.faults.add(format!("sources.{name}"), message);
                        continue;
                    }
                    let table = Table::new(format!("sources.{name}"), Some(value), root.env(), self.faults);
                    let read = source::Read {
                        name,
                        defaults,
                        folder: &self.folder,
                        with_secrets: self.service.needs_secrets(),
                    };
                    sources.insert(name.clone(), read.source(table));
                }
            }
            Some(other) => root
                .fault("sources", format!("must be a mapping of source names, not {}", table::kind(other))),
        }
        sources
    }
}

fn warnings(sources: &BTreeMap<String, Source>) -> Vec<String> {
    sources
        .values()
        .filter(|source| source.skew_window_is_zero)
        .map(|source| {
            format!(
                "sources.{}.skew_window: 0 does not switch the check off; the default of the scheme is used",
                source.name
            )
        })
        .collect()
}

fn networks(table: &Table<'_>, key: &'static str) -> Vec<IpNet> {
    let mut out = Vec::new();
    for (index, text) in table.texts(key).unwrap_or_default().into_iter().enumerate() {
        let parsed = text.parse::<IpNet>().or_else(|_| text.parse::<std::net::IpAddr>().map(IpNet::from));
        match parsed {
            Ok(net) => out.push(net),
            Err(_) => table.fault(
                &format!("{key}[{index}]"),
                format!("`{text}` is not an address range: write one such as 10.0.0.0/8"),
            ),
        }
    }
    out
}

fn absolute_url(text: &str) -> Result<String, String> {
    let bad = || format!("`{text}` is not an absolute URL: write one such as https://hooks.example.com");
    let url = url::Url::parse(text).map_err(|_| bad())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad());
    }
    Ok(text.trim_end_matches('/').to_owned())
}
