//! `hooksctl events replay`: a stored event again, to listeners or push subscriptions.

use super::push;
use crate::options::Global;
use crate::output::{line, note};
use anyhow::Result;
use serde_json::{Value, json};

/// Send a stored event again, whatever its age. Talks to: the inspector.
///
/// Listeners that are connected now get it once more, marked as a replay, without moving their cursors. For push
/// subscriptions it becomes due now, also where it was delivered or cancelled; what is under way is left alone.
/// To send it to a URL from here, use `hooksctl replay`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The source
    source: String,
    /// Its sequence number
    #[arg(value_parser = clap::value_parser!(i64).range(1..))]
    sequence: i64,
    /// To every listener that is connected now
    #[arg(long, required_unless_present = "to_push")]
    to_listeners: bool,
    /// To this push subscription (its id or its name; several by repeating it), or to all of the source
    #[arg(long, value_name = "SUBSCRIPTION|all")]
    to_push: Vec<String>,
}

pub async fn run(global: &Global, args: Args) -> Result<()> {
    let inspector = global.inspector()?;
    let push = match args.to_push.as_slice() {
        [] => Value::Null,
        [word] if word == "all" => "all".into(),
        called => {
            let mut ids = Vec::new();
            for called in called {
                ids.push(Value::from(push::id_of(&inspector, called).await?));
            }
            ids.into()
        }
    };
    let mut wish = json!({"listeners": args.to_listeners});
    if !push.is_null() {
        wish["push"] = push;
    }
    let sequence = args.sequence.to_string();
    let url = inspector.url(&["api", "events", &args.source, &sequence, "replay"]);
    let done = inspector.post_json(url, &wish, &format!("event {}/{sequence}", args.source)).await?;
    if global.json {
        return line(&done.to_string());
    }
    if args.to_listeners {
        note("sent to the listeners that are connected now");
    }
    if args.to_push.is_empty() {
        return Ok(());
    }
    let ids = |name: &str| -> Vec<String> {
        let list = done.get(name).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    for busy in ids("under_way") {
        note(&format!("{busy} is sending it at this moment and is left alone"));
    }
    note(&format!("{} deliveries are due now", ids("deliveries").len()));
    ids("deliveries").iter().try_for_each(|id| line(id))
}
