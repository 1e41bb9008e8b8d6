//! One line per attempt.

use super::courier::{Outcome, Try};
use crate::output::{Colour, Screen, bytes, clock_of, latency, printable, rfc3339, stdout_is_terminal};
use crate::stream::Message;
use serde_json::{Value, json};
use time::OffsetDateTime;

/// For people: on a terminal in columns, else as words with names.
pub fn attempt_line(screen: &Screen, message: &Message, attempt: &Try, note: &str) -> String {
    let now = OffsetDateTime::now_utc();
    let event_type = message.event_type.as_deref().map_or("-".to_owned(), printable);
    let status = match attempt.status() {
        Some(status) => status.to_string(),
        None => "---".to_owned(),
    };
    let colour = match attempt.outcome {
        Outcome::Delivered(_) => Colour::Good,
        Outcome::Refused(_) => Colour::Warning,
        Outcome::NoAnswer(_) => Colour::Bad,
    };
    let tail = [attempt.why().unwrap_or_default(), note.to_owned()];
    let tail = tail.iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join("; ");
    let tail = if tail.is_empty() { tail } else { format!("  {tail}") };
    let paint = screen.paint;
    if !stdout_is_terminal() {
        return format!(
            "{} {} seq={} type={} delivery={} attempt={} status={} took={} size={}{}",
            rfc3339(now),
            message.source,
            message.sequence,
            event_type,
            printable(&message.delivery_id),
            attempt.number,
            status,
            latency(attempt.took),
            bytes(message.body_bytes()),
            tail
        );
    }
    format!(
        "{} {} {} {} {} {}{}",
        paint.paint(Colour::Faint, &clock_of(now)),
        paint.paint(Colour::Name, &format!("{:>6}", message.sequence)),
        paint.paint(colour, &status),
        paint.paint(Colour::Faint, &format!("{:>7}", latency(attempt.took))),
        paint.paint(Colour::Faint, &format!("{:>8}", bytes(message.body_bytes()))),
        paint.paint(Colour::Strong, &event_type),
        paint.paint(Colour::Faint, &tail),
    )
}

/// For programs.
pub fn attempt_json(message: &Message, attempt: &Try, outcome: &str) -> Value {
    json!({
        "source": message.source,
        "sequence": message.sequence,
        "delivery_id": message.delivery_id,
        "event_id": message.event_id,
        "event_type": message.event_type,
        "outcome": outcome,
        "attempt": attempt.number,
        "status": attempt.status(),
        "error": attempt.why(),
        "took_ms": (attempt.took.as_secs_f64() * 10_000.0).round() / 10.0,
        "bytes": message.body_bytes(),
    })
}
