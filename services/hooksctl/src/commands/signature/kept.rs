//! A refused request that ingest has kept, through the inspector.

use super::super::Told;
use crate::options::Global;
use crate::output::fields::{field, moment, number, text};
use crate::output::{Colour, Paint, line, printable};
use anyhow::Result;
use serde_json::Value;

/// Shows the one with this id, or the newest.
pub async fn explain(global: &Global, source: &str, id: Option<i64>) -> Result<()> {
    let inspector = global.inspector()?;
    let which = id.map_or_else(|| "latest".to_owned(), |id| id.to_string());
    let url = inspector.url(&["api", "sources", source, "rejected", &which]);
    let about = match id {
        Some(id) => format!("refused request {id} of source `{source}`"),
        None => format!("refused request of source `{source}` from the last day"),
    };
    let one = inspector.get_json(url, &about).await?;
    if global.json {
        line(&one.to_string())?
    } else {
        show(source, &one)?
    }
    // As for a file: the code tells the verdict, and this one was refused.
    Err(Told.into())
}

fn show(source: &str, one: &Value) -> Result<()> {
    let verdict = text(one, "verdict").unwrap_or_default();
    line(&Paint::stdout().paint(Colour::Bad, &verdict))?;
    let reasons = one.get("reasons").and_then(Value::as_array).into_iter().flatten();
    for reason in reasons.filter_map(Value::as_str) {
        line(&format!("  {}", printable(reason)))?;
    }
    let shown = |name: &str| text(one, name).unwrap_or_else(|| "-".to_owned());
    field("request", &format!("{} of {source}, answered with {}", number(one, "id"), number(one, "status")))?;
    field("at", &moment(one, "at").unwrap_or_default())?;
    field("from", &shown("remote_addr"))?;
    field("line", &format!("{} {}", shown("method"), shown("target")))?;
    let headers = one.get("headers").and_then(Value::as_array).into_iter().flatten();
    for header in headers {
        let part = |at: usize| header.get(at).and_then(Value::as_str).map(printable).unwrap_or_default();
        field("header", &format!("{}: {}", part(0), part(1)))?;
    }
    field("body", &format!("{} bytes", number(one, "body_bytes")))
}
