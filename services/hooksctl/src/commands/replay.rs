//! `hooksctl replay`: stored events, whatever their age, sent to a URL again.

use super::forward::Courier;
use super::forward::{Outcome, To, Try, attempt_json, attempt_line};
use super::{Failed, NotFound, Unreachable, Usage};
use crate::interrupt::unless_interrupted;
use crate::moment::{ago, parse_last};
use crate::options::Global;
use crate::output::Screen;
use crate::server::{Endpoint, Listed, Query};
use crate::stream::Message;
use anyhow::Result;
use futures_util::StreamExt as _;
use hooks_shared::backoff::full_jitter;
use std::time::Duration;

/// Events in memory besides the one that is being sent; each without a large body.
const FETCHED_AHEAD: usize = 8;

/// Send stored events to a URL again, however old they are. Talks to: the subscribe service.
///
/// Signatures of old events are old too: with --sign-with a strict receiver takes them.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub struct Args {
    /// The source
    source: String,
    /// One event (17) or a range (5..9, both ends included)
    #[arg(value_parser = parse_range, group = "which", value_name = "SEQUENCE|FROM..TO")]
    range: Option<Range>,
    /// Everything received within this time, such as 2h
    #[arg(long, value_parser = parse_last, group = "which", value_name = "DURATION")]
    last: Option<Duration>,
    /// Every event with this delivery id of the provider
    #[arg(long, group = "which", value_name = "ID")]
    delivery_id: Option<String>,
    #[command(flatten)]
    to: To,
    /// Give an event up after this many attempts
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..))]
    max_attempts: u32,
    /// Stop at the first event that was given up, instead of going on and listing them at the end
    #[arg(long)]
    exit_on_error: bool,
}

/// Sequences from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    first: i64,
    last: i64,
}

fn parse_range(text: &str) -> Result<Range, String> {
    let bad = || {
        format!(
            "`{text}` is neither a sequence number such as 17 nor a range such as 5..9 (both ends included)"
        )
    };
    let number = |text: &str| text.parse::<i64>().ok().filter(|n| *n > 0).ok_or_else(bad);
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (number(first)?, number(last.trim_start_matches('='))?),
        None => (number(text)?, number(text)?),
    };
    if first > last {
        return Err(format!("`{text}` ends before it begins"));
    }
    Ok(Range { first, last })
}

pub async fn run(global: &Global, args: Args) -> Result<()> {
    let endpoint = global.subscribe()?;
    let courier = args.to.courier(endpoint.clone())?;
    let total = args.range.map_or(0, |range| range.last.abs_diff(range.first) + 1);
    let screen = match total {
        1 => Screen::plain(global.json),
        total => Screen::with_progress(global.json, total),
    };
    let mut replay = Replay { endpoint, courier, screen, args, delivered: 0, given_up: Vec::new(), at: None };
    let done = unless_interrupted(replay.everything()).await;
    replay.screen.clear();
    replay.summary(done.is_err());
    done?;
    match replay.given_up.len() {
        0 => Ok(()),
        1 => Err(Failed("1 event was not accepted".to_owned()).into()),
        count => Err(Failed(format!("{count} events were not accepted")).into()),
    }
}

struct Replay {
    endpoint: Endpoint,
    courier: Courier,
    screen: Screen,
    args: Args,
    delivered: u64,
    given_up: Vec<i64>,
    /// The event being sent.
    at: Option<i64>,
}

impl Replay {
    async fn everything(&mut self) -> Result<()> {
        if let Some(Range { first, last }) = self.args.range
            && first == last
        {
            let message = self.endpoint.event(&self.args.source, first).await?;
            return self.one(&message).await;
        }
        let mut page = Some(self.endpoint.list(&self.args.source, &self.query()?).await?);
        let mut found = false;
        while let Some(listed) = page {
            found |= !listed.events.is_empty();
            self.page(&listed).await?;
            page = self.endpoint.next_page(&self.args.source, &listed).await?;
        }
        if found { Ok(()) } else { Err(self.nothing()) }
    }

    /// Events are fetched ahead of their turn: a target seldom takes as long as a fetch.
    async fn page(&mut self, listed: &Listed) -> Result<()> {
        let (endpoint, source) = (self.endpoint.clone(), self.args.source.clone());
        let sequences: Vec<i64> = listed.events.iter().filter_map(Listed::sequence).collect();
        let fetches = sequences.into_iter().map(|sequence| endpoint.event(&source, sequence));
        let mut messages = futures_util::stream::iter(fetches).buffered(FETCHED_AHEAD);
        while let Some(message) = messages.next().await {
            match message {
                Ok(message) => self.one(&message).await?,
                // Retention may take an event away between the list and now.
                Err(error) if error.is::<NotFound>() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn query(&self) -> Result<Query> {
        let mut query =
            Query { oldest_first: true, delivery_id: self.args.delivery_id.clone(), ..Query::default() };
        if let Some(range) = self.args.range {
            query.after = Some(range.first - 1);
            query.before = range.last.checked_add(1);
        }
        if let Some(last) = self.args.last {
            query.from = Some(ago(last).map_err(Usage)?);
        }
        Ok(query)
    }

    fn nothing(&self) -> anyhow::Error {
        let source = &self.args.source;
        NotFound(match (&self.args.range, &self.args.delivery_id) {
            (Some(range), _) => format!("`{source}` has no event from {} to {}", range.first, range.last),
            (None, Some(id)) => {
                format!("`{source}` has no event with the delivery id {}", crate::output::printable(id))
            }
            (None, None) => format!("`{source}` has received nothing within that time"),
        })
        .into()
    }

    async fn one(&mut self, message: &Message) -> Result<()> {
        self.at = Some(message.sequence);
        let body = self.courier.body(message).await?;
        let mut number = 1;
        let last = loop {
            let attempt = self.courier.attempt(message, &body, true, number).await?;
            let done = attempt.is_delivered() || number >= self.args.max_attempts;
            if done {
                break attempt;
            }
            let pause = full_jitter(Duration::from_millis(100), Duration::from_secs(60), number);
            self.show(message, &attempt, "retrying")?;
            tokio::time::sleep(pause).await;
            number += 1;
        };
        self.show(message, &last, if last.is_delivered() { "delivered" } else { "given_up" })?;
        self.screen.advance(1);
        self.record(message.sequence, last)
    }

    /// A target that does not answer at all ends the replay: the rest would fare no better.
    fn record(&mut self, sequence: i64, attempt: Try) -> Result<()> {
        if attempt.is_delivered() {
            self.delivered += 1;
            self.at = None;
            return Ok(());
        }
        if let Outcome::NoAnswer(fault) = &attempt.outcome {
            return Err(Unreachable(format!("event {sequence} was not delivered: {fault}")).into());
        }
        self.given_up.push(sequence);
        self.at = None;
        if self.args.exit_on_error {
            let status = attempt.status().unwrap_or_default();
            return Err(Failed(format!("event {sequence} was answered with {status}; stopped")).into());
        }
        Ok(())
    }

    fn show(&self, message: &Message, attempt: &Try, outcome: &str) -> Result<()> {
        if self.screen.json {
            return self.screen.line(&attempt_json(message, attempt, outcome).to_string());
        }
        self.screen.line(&attempt_line(&self.screen, message, attempt, ""))
    }

    fn summary(&self, broken_off: bool) {
        let given_up = match self.given_up.as_slice() {
            [] => String::new(),
            some => {
                format!(", not accepted: {}", some.iter().map(i64::to_string).collect::<Vec<_>>().join(" "))
            }
        };
        self.screen.note(&format!("replayed {}{given_up}", self.delivered));
        if let (true, Some(at)) = (broken_off, self.at) {
            let to = self.args.range.map_or("the end".to_owned(), |range| range.last.to_string());
            self.screen.note(&format!("stopped at event {at}; what is left is {at} to {to}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_include_both_ends() {
        assert_eq!(parse_range("17"), Ok(Range { first: 17, last: 17 }));
        assert_eq!(parse_range("5..9"), Ok(Range { first: 5, last: 9 }));
        assert_eq!(parse_range("5..=9"), Ok(Range { first: 5, last: 9 }));
        for bad in ["", "0", "-1", "9..5", "5..", "..9", "5-9", "latest"] {
            assert!(parse_range(bad).is_err(), "{bad}");
        }
    }
}
