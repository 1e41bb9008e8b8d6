//! `hooksctl sources check`: what each source protects, and what it does not.

use super::super::{Failed, Usage};
use crate::options::Global;
use crate::output::{Colour, Paint, line, note};
use anyhow::Result;
use hooks_shared::config::{
    self, Config, DedupeWindow, Retention, Service, Source, effective_dedupe, effective_skew,
};
use hooks_shared::verify::{Ack, Reason, Summary, Verifier, credentials, max_age, public_address};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Read hooks.yaml as the services would, say everything that is wrong with it, and for each source what is checked,
/// what is not protected, how repeats are told, what the provider is answered, and the address to give it. Talks to:
/// nothing.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// The configuration file
    #[arg(env = "HOOKS_CONFIG", default_value = "hooks.yaml", value_name = "FILE")]
    file: PathBuf,
}

pub fn run(global: &Global, args: &CheckArgs) -> Result<()> {
    let config = config::load(&args.file, Service::Hooksctl).map_err(|error| Failed(error.to_string()))?;
    let mut faults = Vec::new();
    for warning in &config.warnings {
        note(&format!("warning: {warning}"));
    }
    for source in config.sources.values() {
        match Verifier::compile(&source.verification(&config)) {
            Ok(compiled) => {
                for warning in &compiled.warnings {
                    note(&format!("warning: sources.{}: {warning}", source.name));
                }
                show(global, &config, source, &compiled.verifier)?;
            }
            Err(found) => faults.extend(found.iter().map(|fault| format!("sources.{}.{fault}", source.name))),
        }
    }
    match faults.len() {
        0 => {
            note(&format!("{}: no faults, {} sources", args.file.display(), config.sources.len()));
            Ok(())
        }
        _ => Err(Failed(format!("{}:\n  {}", args.file.display(), faults.join("\n  "))).into()),
    }
}

fn show(global: &Global, config: &Config, source: &Source, verifier: &Verifier) -> Result<()> {
    let ways: Vec<Way> = verifier.summary().into_iter().map(|way| Way::new(way, source)).collect();
    let facts = Facts::new(config, source, verifier)?;
    if global.json {
        return line(&as_json(source, verifier, &ways, &facts).to_string());
    }
    let paused = if source.paused { " (paused: events are stored and held)" } else { "" };
    line(&format!("{}{paused}", Paint::stdout().paint(Colour::Name, &source.name)))?;
    row("preset", verifier.preset().unwrap_or("none, a scheme of its own"))?;
    if let Some(rule) = verifier.rule() {
        row("rule", &rule)?;
    }
    for way in &ways {
        row("checked", &way.checked)?;
        row("unprotected", &listed(&way.unprotected, "nothing"))?;
        row("repeats", &way.repeats)?;
        row("handshakes", &listed(&way.handshakes, "none"))?;
    }
    row("masked", &listed(&facts.masked, "nothing"))?;
    row("answer", &facts.answer)?;
    row("refusal", &facts.refusal.to_string())?;
    row("skew window", &format!("{} s", facts.skew))?;
    row("kept", &facts.kept)?;
    let unknown = || format!("{} of ingest; set public_url to see the whole address", source.path());
    row("address", &facts.address.clone().unwrap_or_else(unknown))
}

fn row(name: &str, value: &str) -> Result<()> {
    line(&format!("  {name:<13} {value}"))
}

fn listed(items: &[String], none: &str) -> String {
    if items.is_empty() { none.to_owned() } else { items.join("; ") }
}

fn as_json(source: &Source, verifier: &Verifier, ways: &[Way], facts: &Facts) -> Value {
    let ways: Vec<Value> = ways
        .iter()
        .map(|way| {
            json!({
                "checked": way.checked, "unprotected": way.unprotected, "dedupe_id": way.id,
                "dedupe_event_type": way.id_event_type, "repeats": way.repeats, "handshakes": way.handshakes,
            })
        })
        .collect();
    json!({
        "name": source.name, "preset": verifier.preset(), "rule": verifier.rule(), "verification": ways, "masked": facts.masked,
        "answer": facts.answer, "refusal": facts.refusal, "url": facts.address,
        "skew_seconds": facts.skew, "retention": facts.kept, "paused": source.paused,
    })
}

/// One way of checking, in words.
struct Way {
    checked: String,
    unprotected: Vec<String>,
    id: Vec<String>,
    id_event_type: Vec<String>,
    repeats: String,
    handshakes: Vec<String>,
}

impl Way {
    fn new(way: Summary, source: &Source) -> Self {
        Self {
            unprotected: unprotected(&way),
            repeats: repeats(&way, source),
            checked: match way.max_age {
                Some(age) => format!("{}, at most {age} s old", way.what),
                None => way.what,
            },
            id: way.id,
            id_event_type: way.id_event_type,
            handshakes: way.handshakes.into_iter().map(str::to_owned).collect(),
        }
    }
}

fn unprotected(way: &Summary) -> Vec<String> {
    let mut gaps = Vec::new();
    if !way.body_protected {
        gaps.push("the body (it could be changed on the way)".to_owned());
    }
    if !way.time_protected {
        gaps.push("the time (no timestamp is signed: a copy can be sent again at any time)".to_owned());
    } else if !way.age_protected {
        gaps.push("the age (a signed copy can be sent again at any time)".to_owned());
    }
    gaps
}

/// How a repeat of an event is told from another event.
fn repeats(way: &Summary, source: &Source) -> String {
    let body_only = way.id.is_empty() && !way.time_protected;
    let window = match effective_dedupe(source.dedupe_window, source.default_dedupe, body_only) {
        DedupeWindow::Off => return "not recognised (dedupe_window: off)".to_owned(),
        DedupeWindow::For(window) => format!("within {} s", window.as_secs()),
    };
    match (way.id.as_slice(), way.time_protected) {
        ([], true) => format!("no id: the same signed content, its timestamp included, {window}"),
        ([], false) => format!("no id: the same body {window}"),
        (ids, _) if way.id_event_type.is_empty() => {
            format!("the same id {window}, read from {}", ids.join(", "))
        }
        (ids, _) => format!(
            "the same id with the same event type {window}, the id read from {}, the type from {}",
            ids.join(", "),
            way.id_event_type.join(", ")
        ),
    }
}

/// What is the same for every way.
struct Facts {
    masked: Vec<String>,
    answer: String,
    refusal: u16,
    skew: u64,
    kept: String,
    address: Option<String>,
}

impl Facts {
    fn new(config: &Config, source: &Source, verifier: &Verifier) -> Result<Self> {
        let own = max_age(&source.verifier).map_err(|fault| Usage(fault.to_string()))?;
        let mut masked = credentials(&source.verifier);
        masked.sort();
        masked.dedup();
        Ok(Self {
            masked,
            answer: answer(verifier.ack()),
            refusal: verifier.refuse_status(Reason::BadSignature),
            skew: effective_skew(source, own).as_secs(),
            kept: match source.retention {
                Retention::Forever => "forever".to_owned(),
                Retention::For(time) => format!("{} h", time.as_secs() / 3600),
            },
            address: public_address(&source.verification(config), &source.path()),
        })
    }
}

fn answer(ack: &Ack) -> String {
    if ack.body.is_empty() {
        return format!("{}, empty", ack.status);
    }
    let kind = ack.content_type.as_deref().unwrap_or("no content type");
    format!("{} {} ({kind})", ack.status, String::from_utf8_lossy(&ack.body))
}
