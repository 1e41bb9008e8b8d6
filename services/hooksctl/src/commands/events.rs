//! `hooksctl events`: what is stored.

use super::{Usage, event_replay};
use crate::moment::parse_moment;
use crate::options::Global;
use crate::output::{Colour, Paint, bytes, line, note, printable, raw};
use crate::server::{Endpoint, Listed, Query};
use crate::stream::{BodyOf, Message};
use anyhow::Result;
use serde_json::Value;

/// Look at stored events, and send them again
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    List(ListArgs),
    Show(ShowArgs),
    Replay(event_replay::Args),
}

/// List events, the newest first. Talks to: the subscribe service.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// The source
    source: String,
    /// At most this many
    #[arg(long, short = 'n', default_value = "20", value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Only sequences above this
    #[arg(long, value_name = "SEQUENCE")]
    after: Option<i64>,
    /// Only sequences below this
    #[arg(long, value_name = "SEQUENCE")]
    before: Option<i64>,
    /// Received at or after this: RFC 3339, or how long ago
    #[arg(long, value_parser = parse_moment, value_name = "TIME")]
    from: Option<String>,
    /// Received before this: RFC 3339, or how long ago
    #[arg(long, value_parser = parse_moment, value_name = "TIME")]
    to: Option<String>,
    /// Only with this delivery id of the provider
    #[arg(long, value_name = "ID")]
    delivery_id: Option<String>,
    /// Only of this event type
    #[arg(long = "type", value_name = "TYPE")]
    event_type: Option<String>,
    /// The oldest first
    #[arg(long)]
    asc: bool,
}

/// Show one event: headers and body. Talks to: the subscribe service.
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// The source
    source: String,
    /// Its sequence number
    #[arg(value_parser = clap::value_parser!(i64).range(1..))]
    sequence: i64,
    /// Only the body, byte for byte
    #[arg(long)]
    body: bool,
}

pub async fn run(global: &Global, command: Command) -> Result<()> {
    match command {
        Command::List(args) => list(global, args).await,
        Command::Show(args) => show(global, args).await,
        Command::Replay(args) => event_replay::run(global, args).await,
    }
}

async fn list(global: &Global, args: ListArgs) -> Result<()> {
    let endpoint = global.subscribe()?;
    let query = Query {
        after: args.after,
        before: args.before,
        from: args.from,
        to: args.to,
        delivery_id: args.delivery_id,
        event_type: args.event_type,
        oldest_first: args.asc,
        limit: Some(args.limit.min(100)),
    };
    let mut left = args.limit;
    let mut page = Some(endpoint.list(&args.source, &query).await?);
    while let Some(listed) = page {
        for event in &listed.events {
            if left == 0 {
                break;
            }
            left -= 1;
            if global.json { line(&event.to_string())? } else { line(&row(event))? }
        }
        if left == 0 {
            if listed.has_next() {
                note("there are more; --limit or --before shows them");
            }
            break;
        }
        page = endpoint.next_page(&args.source, &listed).await?;
    }
    if left == args.limit && !global.json {
        note("no events");
    }
    Ok(())
}

fn row(event: &Value) -> String {
    let paint = Paint::stdout();
    let text = |name: &str| event.get(name).and_then(Value::as_str).map(printable);
    let sequence = Listed::sequence(event).unwrap_or(0).to_string();
    let size = event.get("body_bytes").and_then(Value::as_u64).map(bytes);
    [
        paint.paint(Colour::Strong, &format!("{sequence:>8}")),
        paint.paint(Colour::Faint, &text("received_at").map_or_else(String::new, |at| whole_seconds(&at))),
        format!("{:<6}", text("method").unwrap_or_default()),
        format!("{:>9}", size.unwrap_or_else(|| "-".to_owned())),
        paint.paint(Colour::Name, &text("event_type").unwrap_or_else(|| "-".to_owned())),
        text("delivery_id").unwrap_or_default(),
    ]
    .join("  ")
}

/// `2026-05-09T14:00:01.123Z` without its fraction.
fn whole_seconds(at: &str) -> String {
    at.split_once('.').map_or_else(|| at.to_owned(), |(seconds, _)| format!("{seconds}Z"))
}

async fn show(global: &Global, args: ShowArgs) -> Result<()> {
    let endpoint = global.subscribe()?;
    if args.body && global.json {
        return Err(Usage("--body gives bytes and --json gives JSON: choose one".to_owned()).into());
    }
    let message = endpoint.event(&args.source, args.sequence).await?;
    if args.body {
        return raw(&endpoint.body(&message).await?);
    }
    if global.json {
        return line(&message.to_json().to_string());
    }
    show_text(&endpoint, &message).await
}

async fn show_text(endpoint: &Endpoint, message: &Message) -> Result<()> {
    let paint = Paint::stdout();
    let field = |name: &str, value: &str| {
        line(&format!("{} {}", paint.paint(Colour::Faint, &format!("{name:<14}")), printable(value)))
    };
    field("event", &format!("{} {}", message.source, message.sequence))?;
    field("received", &message.received_at)?;
    field("delivery id", &message.delivery_id)?;
    field("event id", message.event_id.as_deref().unwrap_or("-"))?;
    field("type", message.event_type.as_deref().unwrap_or("-"))?;
    field("request", &format!("{} {}", message.method, message.path.as_deref().unwrap_or("")))?;
    field("body", &format!("{}, SHA-256 {}", bytes(message.body_bytes()), message.body_sha256))?;
    line("")?;
    for (name, value) in &message.headers {
        let name = String::from_utf8_lossy(name).into_owned();
        let value = printable(&String::from_utf8_lossy(value));
        line(&format!("{}: {value}", paint.paint(Colour::Name, &printable(&name))))?;
    }
    line("")?;
    if let BodyOf::At { .. } = message.body {
        return line("(a large body: --body writes it)");
    }
    let body = endpoint.body(message).await?;
    match std::str::from_utf8(&body) {
        Ok(text) => line(&text.lines().map(printable).collect::<Vec<_>>().join("\n")),
        Err(_) => line("(not text: --body writes it)"),
    }
}
