//! `hooksctl forward`: every event of a source, sent on to a URL of this machine as it was received.

mod courier;
mod display;
mod run;

pub use courier::{Courier, Outcome, Try};
pub use display::{attempt_json, attempt_line};

use crate::commands::Failed;
use crate::cursor::CursorFile;
use crate::interrupt::unless_interrupted;
use crate::moment::parse_since;
use crate::options::Global;
use crate::output::Screen;
use crate::resign::Resign;
use crate::stream::Start;
use crate::target::{Client, Target};
use anyhow::Result;
use hooks_shared::config::parse_duration;
use std::time::Duration;

/// Send a source's events on to a URL, from where the last run stopped. Talks to: the subscribe service.
///
/// Each event goes out with its original body and headers, plus X-Hooks-Source, X-Hooks-Sequence and
/// X-Hooks-Delivery-Id. An answer of 2xx moves the cursor; anything else is tried again. When catching up,
/// events older than the source's skew window are left out; the command says so and how to replay them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The source
    source: String,
    #[command(flatten)]
    to: To,
    /// Start after this sequence number, or `latest`, instead of where the last run stopped
    #[arg(long, allow_negative_numbers = true, value_parser = parse_since, value_name = "SEQUENCE|latest")]
    since: Option<Start>,
    /// Give an event up after this many attempts and go on with the next; without it, it is tried for ever
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_attempts: Option<u32>,
    /// End with code 1 at the first attempt that fails, or with 5 when the stream is lost
    #[arg(long)]
    exit_on_error: bool,
}

/// Where to send, and how: the same for `forward` and `replay`.
#[derive(Debug, clap::Args)]
pub struct To {
    /// The URL to send to; events are posted to exactly this address
    #[arg(long = "to", value_name = "URL")]
    to: String,
    /// Sign each event afresh: SCHEME:@FILE, SCHEME:env:NAME or, visible to others on this machine,
    /// SCHEME:SECRET. SCHEME is a preset such as standard_webhooks, github, stripe or slack
    #[arg(long, value_name = "SCHEME:SECRET")]
    sign_with: Option<String>,
    /// How long one attempt may take
    #[arg(long, value_parser = attempt_timeout, default_value = "30s", value_name = "DURATION")]
    attempt_timeout: Duration,
}

impl To {
    /// Checks everything before the first request goes out.
    pub fn courier(&self, endpoint: crate::server::Endpoint) -> Result<Courier> {
        let target = Target::parse(&self.to)?;
        let resign = self.sign_with.as_deref().map(Resign::parse).transpose()?;
        Ok(Courier::new(endpoint, Client::new(target, self.attempt_timeout).map_err(Failed)?, resign))
    }

    /// The target as it is shown to people and repeated in suggested commands.
    pub fn shown(&self) -> &str {
        &self.to
    }
}

fn attempt_timeout(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        limit if limit < Duration::from_millis(10) => Err("must be at least 10ms".to_owned()),
        limit => Ok(limit),
    }
}

pub async fn run(global: &Global, args: Args) -> Result<()> {
    let endpoint = global.subscribe()?;
    let courier = args.to.courier(endpoint.clone())?;
    let cursor = CursorFile::of(&endpoint, &args.source)?;
    let start = match args.since {
        Some(start) => start,
        None => Start::After(cursor.read()?),
    };
    let screen = Screen::with_status(global.json);
    let mut run = run::Run {
        courier,
        cursor,
        screen,
        source: args.source,
        to: args.to.shown().to_owned(),
        max_attempts: args.max_attempts,
        exit_on_error: args.exit_on_error,
        progress: run::Progress::default(),
    };
    let done = unless_interrupted(run.follow(endpoint, start)).await;
    run.farewell();
    done
}
