//! `hooksctl send`: a first event without a provider.

mod sample;
mod signing;

use super::{Failed, NotFound, Refused, Unreachable, Usage};
use crate::options::Global;
use crate::output::{Colour, Paint, line, printable};
use crate::server::Endpoint;
use crate::target::{Client, Target};
use anyhow::{Context, Result};
use hooks_shared::http1::Request;
use hooks_shared::ids;
use serde_json::json;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;
use time::OffsetDateTime;

/// Send an event to a source as its provider would, signed with the source's own secret. Talks to: ingest.
///
/// The secret is read from hooks.yaml. Without --data a sample event of the provider is sent.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The source
    source: String,
    /// The body: a text, @FILE, or - for standard input
    #[arg(long, short = 'd', value_name = "TEXT|@FILE|-")]
    data: Option<String>,
    /// The event's type, where the provider names one
    #[arg(long = "type", value_name = "TYPE")]
    event_type: Option<String>,
    /// The delivery id; without it a new one
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Send this many, one after the other
    #[arg(long, short = 'n', default_value = "1", value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,
    /// The configuration file with the source's secret
    #[arg(long, env = "HOOKS_CONFIG", default_value = "hooks.yaml", value_name = "FILE")]
    config: PathBuf,
}

pub async fn run(global: &Global, args: Args) -> Result<()> {
    let endpoint = global.ingest()?;
    let signing = signing::read(&args.config, &args.source)?;
    let data = args.data.as_deref().map(read_data).transpose()?;
    let mut url = endpoint.url(&["ingest", &args.source]);
    url.set_query(signing.query());
    let target = Target::parse(url.as_str())?;
    let mut client = Client::new(target, Duration::from_secs(60)).map_err(Failed)?;
    for _ in 0..args.count {
        let now = OffsetDateTime::now_utc();
        let id = args.id.clone().unwrap_or_else(|| fresh_id(now));
        let sample = sample::sample(signing.preset(), args.event_type.as_deref(), &id, now);
        let body = data.clone().unwrap_or(sample.body);
        let mut request = Request {
            method: "POST".to_owned(),
            target: client.target().path(),
            headers: Vec::new(),
            body: body.into(),
        };
        request.add("User-Agent", concat!("hooksctl/", env!("CARGO_PKG_VERSION")));
        request.add("Content-Type", sample.content_type);
        signing.sign(&mut request, client.target(), &id, &sample.event_type, now)?;
        request.check().map_err(Usage)?;
        let answer = client.send(&request).await.map_err(|fault| {
            Unreachable(format!("{fault}; is ingest running? Name it with --ingest or HOOKS_INGEST"))
        })?;
        report(global, &endpoint, &args.source, &id, &answer)?;
    }
    Ok(())
}

/// Providers' ids look like this or like anything else; ours say where they come from.
fn fresh_id(now: OffsetDateTime) -> String {
    let unix_millis = i64::try_from(now.unix_timestamp_nanos() / 1_000_000).unwrap_or_default();
    ids::event_id(unix_millis).replacen("evt_", "sample_", 1)
}

fn read_data(data: &str) -> Result<Vec<u8>> {
    if data == "-" {
        let mut body = Vec::new();
        std::io::stdin().lock().read_to_end(&mut body).context("standard input cannot be read")?;
        return Ok(body);
    }
    match data.strip_prefix('@') {
        Some(path) => std::fs::read(path).map_err(|error| {
            Usage(format!("--data names the file `{path}`, which cannot be read: {error}")).into()
        }),
        None => Ok(data.as_bytes().to_vec()),
    }
}

fn report(
    global: &Global,
    endpoint: &Endpoint,
    source: &str,
    id: &str,
    answer: &crate::target::Answer,
) -> Result<()> {
    let sequence = answer.head.header("x-hooks-sequence").and_then(|text| text.parse::<i64>().ok());
    let (true, Some(sequence)) = (answer.is_success(), sequence) else {
        return Err(refused(endpoint, source, answer));
    };
    if global.json {
        let shown =
            json!({"source": source, "sequence": sequence, "status": answer.head.status, "delivery_id": id});
        return line(&shown.to_string());
    }
    let paint = Paint::stdout();
    line(&format!(
        "{} {} delivery={id} status={}",
        paint.paint(Colour::Name, source),
        paint.paint(Colour::Strong, &format!("seq={sequence}")),
        paint.paint(Colour::Good, &answer.head.status.to_string()),
    ))
}

fn refused(endpoint: &Endpoint, source: &str, answer: &crate::target::Answer) -> anyhow::Error {
    let place = format!("ingest at {}", endpoint.base);
    let text = String::from_utf8_lossy(&answer.beginning);
    let reason = printable(text.lines().next().unwrap_or_default());
    let status = answer.head.status;
    match status {
        404 => NotFound(format!(
            "{place} does not know the source `{source}` (404); is it in the hooks.yaml that ingest runs with? \
             Ingest reads a changed file on SIGHUP or restart"
        ))
        .into(),
        401 => Refused(format!(
            "{place} refuses the request (401 {reason}): most likely it runs with another secret or verifier than this \
             hooks.yaml (restart it or send it SIGHUP), or the verifier asks for more than one signature, of which send \
             makes one; `hooksctl signature explain {source}` says what ingest found"
        ))
        .into(),
        403 => Refused(format!("{place} refuses the sender (403 {reason})")).into(),
        413 => Refused(format!("{place} refuses the body (413): it is over the source's body_size_limit")).into(),
        500.. => Unreachable(format!("{place} cannot store now ({status}): {reason}; send it again")).into(),
        200..=299 => Failed(format!(
            "{} answers {status} without a sequence number: is it ingest? Name it with --ingest or HOOKS_INGEST",
            endpoint.base
        ))
        .into(),
        _ => Failed(format!("{place} answers {status}: {reason}")).into(),
    }
}
