//! `hooksctl signature`: why does a request verify, or not?

mod kept;

use super::{Told, Usage};
use crate::options::Global;
use crate::output::{Colour, Paint, line};
use anyhow::Result;
use hooks_shared::Secret;
use hooks_shared::config::parse_yaml;
use hooks_shared::verify::doctor::{self, Case, Diagnosis};
use hooks_shared::verify::{ChallengeAnswer, Recorded, Settings, preset};
use serde_json::{Map, Value, json};
use std::io::Read;
use std::path::{Path, PathBuf};
use time::OffsetDateTime;

/// Look into signatures
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Explain(ExplainArgs),
}

/// Say whether a request verifies, and why not. Code 0 for `ok` and `challenge`, 1 for any other verdict, 2 for
/// wrong use. Talks to: nothing with a file; the inspector with a source's name.
///
/// With a source's name it shows a request that ingest refused in the last day, and what was found: the newest, or the
/// one with this id. That needs an administrator's token.
///
/// FILE is one JSON object: {"method", "url", "headers": [[name, value] …], "body_base64"}. Where no option says
/// otherwise it may also hold `provider` or `config`, `secret` or `secrets`, `now`, `tolerance`, `max_future`,
/// `public_key`, `verify_token`, `cert_pem`, `allowed_origins`, `allow` and `remote_addr`.
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// The request, `-` for standard input; or the name of a source
    #[arg(value_name = "FILE|-|SOURCE")]
    file: PathBuf,
    /// Which of the source's refused requests; the newest if it is left out
    #[arg(value_name = "ID", conflicts_with_all = ["verifier", "secrets", "now"])]
    id: Option<i64>,
    /// A preset's name, or a file with a verifier as it stands in hooks.yaml
    #[arg(long, value_name = "NAME|@FILE")]
    verifier: Option<String>,
    /// The secret: @FILE, env:NAME or the text itself, which others on this machine can see. May be repeated
    #[arg(long = "secret", value_name = "SECRET")]
    secrets: Vec<String>,
    /// The moment to check at, in seconds since 1970; the record's `now`, else the present
    #[arg(long, value_name = "UNIX")]
    now: Option<i64>,
}

pub async fn run(global: &Global, command: Command) -> Result<()> {
    match command {
        Command::Explain(args) => match source(&args) {
            Some(source) => kept::explain(global, source, args.id).await,
            None => explain(global, &args),
        },
    }
}

/// Names of sources have neither dots nor slashes; a file that is there comes first, unless an id is given.
fn source(args: &ExplainArgs) -> Option<&str> {
    let text = args.file.to_str()?;
    let is_name = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')) && text != "-";
    let for_files = args.verifier.is_some() || !args.secrets.is_empty() || args.now.is_some();
    (args.id.is_some() || (is_name && !for_files && !Path::new(text).exists())).then_some(text)
}

fn explain(global: &Global, args: &ExplainArgs) -> Result<()> {
    let mut recorded = read(args)?;
    if let Some(verifier) = &args.verifier {
        recorded.config = Some(named_verifier(verifier)?);
    }
    if recorded.config.is_none() && recorded.provider.is_none() {
        return Err(
            Usage("which scheme? Give --verifier, or `provider` or `config` in the record".into()).into()
        );
    }
    let mut settings = recorded.settings();
    if !args.secrets.is_empty() {
        settings.secrets = args.secrets.iter().map(|text| secret(text)).collect::<Result<_>>()?;
    }
    let diagnosis = diagnose(&recorded, &settings, moment(args, &recorded)?)?;
    if global.json {
        line(&as_json(&diagnosis).to_string())?
    } else {
        show(&diagnosis)?
    }
    match diagnosis.verdict {
        "ok" | "challenge" => Ok(()),
        _ => Err(Told.into()),
    }
}

fn diagnose(recorded: &Recorded, settings: &Settings, now: OffsetDateTime) -> Result<Diagnosis> {
    let request = recorded.parts().map_err(Usage)?;
    Ok(doctor::examine(&Case { settings, request: &request, now, others: &[] }))
}

fn read(args: &ExplainArgs) -> Result<Recorded> {
    let name = args.file.display();
    let mut text = Vec::new();
    let read = if args.file.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut text)
    } else {
        std::fs::File::open(&args.file).and_then(|mut file| file.read_to_end(&mut text))
    };
    read.map_err(|error| Usage(format!("{name} cannot be read: {error}")))?;
    Recorded::read(&text).map_err(|fault| Usage(format!("{name} is not a recorded request: {fault}")).into())
}

fn named_verifier(text: &str) -> Result<Value> {
    let Some(file) = text.strip_prefix('@') else {
        return match preset(text) {
            Some(known) => Ok(Value::from(known.name)),
            None => Err(Usage(format!("there is no preset `{text}`; a file is written @{text}")).into()),
        };
    };
    let yaml =
        std::fs::read_to_string(file).map_err(|error| Usage(format!("{file} cannot be read: {error}")))?;
    let value = parse_yaml(&yaml).map_err(|fault| Usage(format!("{file}: {fault}")))?;
    // A whole source is as good as its verifier.
    Ok(value.get("verifier").cloned().unwrap_or(value))
}

fn secret(text: &str) -> Result<Secret> {
    if let Some(path) = text.strip_prefix('@') {
        let read = std::fs::read_to_string(path);
        let text =
            read.map_err(|error| Usage(format!("the secret's file {path} cannot be read: {error}")))?;
        return Ok(Secret::from(text.strip_suffix('\n').unwrap_or(&text)));
    }
    match text.strip_prefix("env:") {
        Some(name) => match std::env::var(name) {
            Ok(text) => Ok(Secret::from(text)),
            Err(_) => Err(Usage(format!("the variable {name} is not set")).into()),
        },
        None => Ok(Secret::from(text)),
    }
}

fn moment(args: &ExplainArgs, recorded: &Recorded) -> Result<OffsetDateTime> {
    match args.now {
        Some(now) => {
            OffsetDateTime::from_unix_timestamp(now).map_err(|_| Usage("--now is out of range".into()).into())
        }
        None => Ok(recorded.moment().unwrap_or_else(OffsetDateTime::now_utc)),
    }
}

fn show(diagnosis: &Diagnosis) -> Result<()> {
    let colour = match diagnosis.verdict {
        "ok" | "challenge" => Colour::Good,
        _ => Colour::Bad,
    };
    line(&Paint::stdout().paint(colour, diagnosis.verdict))?;
    for reason in &diagnosis.reasons {
        line(&format!("  {reason}"))?;
    }
    let Some(answer) = &diagnosis.answer else { return Ok(()) };
    line(&format!("  It is answered with {}:", answer.status))?;
    for (name, value) in &answer.headers {
        line(&format!("    {name}: {value}"))?;
    }
    if answer.body.is_empty() {
        return Ok(());
    }
    line(&format!("    {}", String::from_utf8_lossy(&answer.body)))
}

fn as_json(diagnosis: &Diagnosis) -> Value {
    let mut shown = json!({"verdict": diagnosis.verdict, "reasons": diagnosis.reasons});
    if let Some(answer) = &diagnosis.answer {
        shown["response"] = response(answer);
    }
    shown
}

fn response(answer: &ChallengeAnswer) -> Value {
    let headers: Map<String, Value> =
        answer.headers.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    json!({"status": answer.status, "headers": headers, "body": String::from_utf8_lossy(&answer.body)})
}
