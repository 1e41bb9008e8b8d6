//! One delivery: why it is where it is, and what was tried.

use super::list::colour;
use crate::options::Global;
use crate::output::fields::{field, moment, number, text};
use crate::output::{Colour, Paint, latency, line};
use anyhow::Result;
use serde_json::Value;
use std::time::Duration;

/// Show one delivery: why it is not moving, in words, and every attempt. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its id (dlv_…), as lists and the header X-Hooks-Push-Id have it
    delivery: String,
}

pub async fn run(global: &Global, args: Args) -> Result<()> {
    let inspector = global.inspector()?;
    let url = inspector.url(&["api", "deliveries", &args.delivery]);
    let one = inspector.get_json(url, &format!("delivery {}", args.delivery)).await?;
    if global.json {
        return line(&one.to_string());
    }
    print(&one)
}

fn print(one: &Value) -> Result<()> {
    let paint = Paint::stdout();
    let shown = |name: &str| text(one, name).unwrap_or_else(|| "-".to_owned());
    let attempts: &[Value] = one.get("attempt_history").and_then(Value::as_array).map_or(&[], Vec::as_slice);
    line(&format!(
        "{}  {}",
        paint.paint(Colour::Strong, &shown("id")),
        paint.paint(colour(&shown("state")), &shown("state"))
    ))?;
    line("")?;
    line(&format!("  {}", paint.paint(Colour::Strong, &shown("why"))))?;
    if let Some(last) = attempts.iter().rfind(|attempt| !is_late(attempt)) {
        line(&format!("  the last attempt: {}", ending(last)))?;
    }
    line("")?;
    field(
        "event",
        &format!(
            "{} {}, received {}",
            shown("source"),
            number(one, "sequence"),
            moment(one, "received_at").unwrap_or_default()
        ),
    )?;
    field(
        "subscription",
        &format!(
            "{} ({}), {}",
            shown("subscription_name"),
            shown("subscription_id"),
            shown("subscription_state")
        ),
    )?;
    field("attempts", &counted(one))?;
    if let Some(at) = moment(one, "completed_at") {
        field("ended", &at)?;
    } else {
        field("before it", &queue(one))?;
    }
    if number(one, "lost_claims") > 0 {
        field("lost workers", &format!("{} died with it alone in hand", number(one, "lost_claims")))?;
    }
    if !attempts.is_empty() {
        line("")?;
    }
    attempts.iter().try_for_each(|attempt| print_attempt(paint, attempt))
}

fn counted(one: &Value) -> String {
    let (all, cycle) = (number(one, "attempts"), number(one, "cycle_attempts"));
    match one.get("replayed").and_then(Value::as_bool) {
        Some(true) => format!("{all}, of them {cycle} since it was replayed"),
        _ if cycle == all => all.to_string(),
        _ => format!("{all}, of them {cycle} count for its schedule"),
    }
}

fn queue(one: &Value) -> String {
    let ahead = match number(one, "ahead") {
        1001 => "more than 1000 deliveries".to_owned(),
        1 => "1 delivery".to_owned(),
        n => format!("{n} deliveries"),
    };
    format!("{ahead} of the subscription, {} under way", number(one, "in_flight"))
}

fn is_late(attempt: &Value) -> bool {
    attempt.get("late").and_then(Value::as_bool) == Some(true)
}

/// How an attempt ended, in words.
fn ending(attempt: &Value) -> String {
    let status = attempt.get("status").and_then(Value::as_i64).map(|status| format!("status {status}"));
    let outcome = text(attempt, "outcome").map(|outcome| outcome.replace('_', " "));
    let error = text(attempt, "error").filter(|error| !error.is_empty());
    let parts = [outcome, status, error];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn print_attempt(paint: Paint, attempt: &Value) -> Result<()> {
    let millis = u64::try_from(number(attempt, "duration_ms")).unwrap_or(0);
    let good = text(attempt, "outcome").as_deref() == Some("succeeded");
    let late = if is_late(attempt) { "  (late: another worker had taken over)" } else { "" };
    line(&format!(
        "  {:>3}  {}  {:>6}  {}{late}  {}",
        number(attempt, "number"),
        paint.paint(Colour::Faint, &moment(attempt, "started_at").unwrap_or_default()),
        latency(Duration::from_millis(millis)),
        paint.paint(if good { Colour::Good } else { Colour::Bad }, &ending(attempt)),
        paint.paint(
            Colour::Faint,
            &format!(
                "{} by {}",
                text(attempt, "url").unwrap_or_default(),
                text(attempt, "worker").unwrap_or_default()
            )
        ),
    ))?;
    match text(attempt, "response").filter(|response| !response.is_empty()) {
        Some(response) => line(&format!("       answered: {response}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_attempt_ends_in_words() {
        let refused = json!({"outcome": "network_error", "status": null, "error": "connection refused"});
        assert_eq!(ending(&refused), "network error, connection refused");
        assert_eq!(ending(&json!({"outcome": "http_error", "status": 503})), "http error, status 503");
    }

    #[test]
    fn counts_say_what_they_count() {
        assert_eq!(counted(&json!({"attempts": 2, "cycle_attempts": 2, "replayed": false})), "2");
        assert_eq!(
            counted(&json!({"attempts": 5, "cycle_attempts": 1, "replayed": true})),
            "5, of them 1 since it was replayed"
        );
    }
}
