//! The source's scheme and secret, from `hooks.yaml`.

use crate::commands::{Failed, NotFound, Usage};
use crate::target::Target;
use anyhow::{Context, Result};
use hooks_shared::Config;
use hooks_shared::config::{self, ConfigError, Service};
use hooks_shared::http1::Request;
use hooks_shared::verify::{self, Signer, Verifier};
use std::path::Path;
use time::OffsetDateTime;

/// How requests to one source are signed.
#[derive(Debug)]
pub struct Signing {
    signer: Signer,
    preset: Option<&'static str>,
    /// Where the verifier believes the source is, for schemes that sign it.
    address: Option<String>,
}

/// Reads the configuration and compiles the source's scheme.
pub fn read(path: &Path, name: &str) -> Result<Signing> {
    let config = load(path, name)?;
    let source = config.sources.get(name).ok_or_else(|| {
        let names: Vec<&str> = config.sources.keys().map(String::as_str).collect();
        NotFound(format!("{} has no source `{name}`; it has {}", path.display(), names.join(", ")))
    })?;
    let settings = source.verification(&config);
    let compiled = Verifier::compile(&settings).map_err(|faults| faulty(path, name, &faults))?;
    let signer = Signer::of(&settings).map_err(|faults| match faults.as_slice() {
        [fault] if fault.key == "secrets" => {
            Usage(format!("{}: sources.{name}.{fault}", path.display())).into()
        }
        faults => anyhow::Error::from(faulty(path, name, faults)),
    })?;
    let address = signer.address(&source.path());
    Ok(Signing { signer, preset: compiled.verifier.preset(), address })
}

fn faulty(path: &Path, name: &str, faults: &[verify::Fault]) -> Failed {
    let faults: Vec<String> = faults.iter().map(|fault| format!("sources.{name}.{fault}")).collect();
    Failed(format!("{}: {}", path.display(), faults.join("; ")))
}

/// Loads the file. What is wrong with other sources only (a variable that is set where ingest runs, say) is
/// no reason not to sign for this one.
fn load(path: &Path, name: &str) -> Result<Config> {
    let error = match config::load(path, Service::Hooksctl) {
        Ok(config) => return Ok(config),
        Err(error) => error,
    };
    if error.faults.iter().any(|(_, fault)| concerns(&fault.key, name)) {
        return Err(Usage(error.to_string()).into());
    }
    leniently(path).map_err(|_| Usage(error.to_string()).into())
}

fn concerns(key: &str, name: &str) -> bool {
    match key.strip_prefix("sources.") {
        Some(rest) => rest == name || rest.starts_with(&format!("{name}.")),
        None => true,
    }
}

/// Unset variables read as a word that is no secret of anybody's.
fn leniently(path: &Path) -> Result<Config, ConfigError> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let lookup = |name: &str| std::env::var(name).ok().or_else(|| Some("unset".to_owned()));
    config::parse(&path.display().to_string(), &text, &folder, Service::Hooksctl, &lookup)
}

impl Signing {
    pub fn preset(&self) -> Option<&'static str> {
        self.preset
    }

    /// The query of the address that the provider was given, which comes with each of its requests.
    pub fn query(&self) -> Option<&str> {
        self.address.as_deref()?.split_once('?').map(|(_, query)| query)
    }

    pub fn sign(
        &self,
        request: &mut Request,
        target: &Target,
        id: &str,
        event_type: &str,
        now: OffsetDateTime,
    ) -> Result<()> {
        let message = verify::Message {
            method: &request.method,
            url: self.address.as_deref().unwrap_or(target.url().as_str()),
            body: &request.body,
            id,
            event_type: Some(event_type),
            now,
        };
        let signed = self.signer.sign(&message).map_err(Usage).context("the event cannot be signed")?;
        request.take(signed, target.url());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_other_sources_are_not_this_ones() {
        assert!(concerns("sources.demo.secret", "demo"));
        assert!(concerns("sources.demo", "demo"));
        assert!(concerns("push.lease", "demo"));
        assert!(!concerns("sources.demo2.secret", "demo"));
    }
}
