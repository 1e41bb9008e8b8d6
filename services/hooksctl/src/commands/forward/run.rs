//! Following the stream: deliver, retry, remember, tell.

use super::courier::{Courier, Outcome, Try};
use super::display::{attempt_json, attempt_line};
use crate::commands::{Failed, NotFound, Refused, Unreachable};
use crate::cursor::CursorFile;
use crate::output::{Colour, Screen, latency, printable};
use crate::server::Endpoint;
use crate::stream::{Comment, Connected, Item, Message, Queue, Start, read};
use anyhow::Result;
use bytes::Bytes;
use hooks_shared::backoff::full_jitter;
use std::time::Duration;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What has happened so far.
#[derive(Debug, Default)]
pub struct Progress {
    /// The last event dealt with, in this run.
    cursor: Option<i64>,
    newest: i64,
    delivered: u64,
    given_up: u64,
    cursor_fault_shown: bool,
}

/// One run of `forward`.
pub struct Run {
    pub courier: Courier,
    pub cursor: CursorFile,
    pub screen: Screen,
    pub source: String,
    /// `--to` as it was given.
    pub to: String,
    pub max_attempts: Option<u32>,
    pub exit_on_error: bool,
    pub progress: Progress,
}

impl Run {
    /// Ends only with an error, or when the server refuses.
    pub async fn follow(&mut self, endpoint: Endpoint, start: Start) -> Result<()> {
        self.screen.status(format!("{} → {} · connecting", self.source, self.courier.target().shown()));
        let mut queue = read(endpoint, self.source.clone(), start);
        while let Some(item) = queue.next().await {
            match item {
                Item::Connected(connected) => self.connected(connected),
                Item::Message(message) => self.deliver(&message, &queue).await?,
                Item::Unreadable { sequence, why } => self.unreadable(sequence, &why)?,
                Item::Comment(comment) => self.comment(&comment),
                Item::Lost { why, pause } => self.lost(&why, pause)?,
                Item::Stopped(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The last words, after an interruption too.
    pub fn farewell(&self) {
        self.screen.clear();
        if let Some(cursor) = self.progress.cursor {
            self.screen.note(&format!(
                "delivered {}, given up {}; the next run of forward starts after {cursor}",
                self.progress.delivered, self.progress.given_up
            ));
        }
    }

    fn connected(&mut self, connected: Connected) {
        let word = if connected.again { "connected again" } else { "connected" };
        let position = match (connected.cursor, connected.newest) {
            (Some(cursor), Some(newest)) if newest > cursor => format!(
                "{} {} behind (last seen {cursor}, newest {newest}), catching up",
                newest - cursor,
                events(newest - cursor)
            ),
            (Some(cursor), _) => format!("up to date at {cursor}"),
            (None, _) => "starting with the next event".to_owned(),
        };
        self.progress.newest = self.progress.newest.max(connected.newest.unwrap_or(0));
        self.say(Colour::Good, &format!("{word}: {position}"));
        self.show_status("online");
    }

    fn lost(&mut self, why: &str, pause: Duration) -> Result<()> {
        if self.exit_on_error {
            return Err(Unreachable(why.to_owned()).into());
        }
        self.say(Colour::Warning, &format!("{why}; trying again in {:.1} s", pause.as_secs_f64()));
        self.show_status("reconnecting");
        Ok(())
    }

    fn comment(&mut self, comment: &Comment) {
        match comment {
            Comment::Skipped { count, first, last } => {
                let range = if first == last { first.to_string() } else { format!("{first}..{last}") };
                self.say(
                    Colour::Warning,
                    &format!(
                        "{count} {} ({range}) missed while away are older than the skew window and were skipped; \
                         send them with: hooksctl replay {} {range} --to {}",
                        events(*count as i64),
                        self.source,
                        self.to
                    ),
                );
                self.move_cursor(*last);
            }
            Comment::AheadOfLog => self.say(
                Colour::Warning,
                "the cursor is ahead of the newest event: nothing comes until the log gets there. Was the \
                 database restored or set up anew? Start lower with --since",
            ),
            Comment::Keepalive | Comment::Other(_) => {}
        }
    }

    fn unreadable(&mut self, sequence: Option<i64>, why: &str) -> Result<()> {
        let number = sequence.map_or("an event".to_owned(), |number| format!("event {number}"));
        self.say(Colour::Bad, &format!("{number} cannot be read and is left out: {}", printable(why)));
        if self.exit_on_error {
            return Err(Failed(format!("{number} cannot be read")).into());
        }
        if let Some(sequence) = sequence {
            self.move_cursor(sequence);
        }
        Ok(())
    }

    async fn deliver(&mut self, message: &Message, queue: &Queue) -> Result<()> {
        let outcome = match self.body(message).await {
            Ok(body) => self.attempts(message, &body, queue).await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(true) => self.progress.delivered += 1,
            Ok(false) => self.progress.given_up += 1,
            // About the event itself: sending it again cannot help.
            Err(error) if error.is::<Failed>() && !self.exit_on_error => {
                self.unreadable(message.moves_cursor.then_some(message.sequence), &error.to_string())?;
            }
            Err(error) => return Err(error),
        }
        if message.moves_cursor {
            self.move_cursor(message.sequence);
        }
        self.show_status("online");
        Ok(())
    }

    /// The body, however often it takes to get it; gone (pruned) or refused ends the attempts.
    async fn body(&mut self, message: &Message) -> Result<Bytes> {
        let mut failures = 0;
        loop {
            let error = match self.courier.body(message).await {
                Ok(body) => return Ok(body),
                Err(error) => error,
            };
            if error.is::<NotFound>() {
                return Err(Failed(error.to_string()).into());
            }
            if error.is::<Failed>() || error.is::<Refused>() || self.exit_on_error {
                return Err(error);
            }
            let pause = full_jitter(FIRST_PAUSE, LONGEST_PAUSE, failures);
            failures += 1;
            self.say(Colour::Warning, &format!("{error}; trying again in {}", latency(pause)));
            tokio::time::sleep(pause).await;
        }
    }

    /// True when it was delivered, false when it was given up.
    async fn attempts(&mut self, message: &Message, body: &Bytes, queue: &Queue) -> Result<bool> {
        let mut number = 1;
        loop {
            let attempt = self.courier.attempt(message, body, !message.moves_cursor, number).await?;
            if attempt.is_delivered() {
                self.show(message, &attempt, "delivered", "")?;
                return Ok(true);
            }
            if self.exit_on_error {
                self.show(message, &attempt, "failed", "")?;
                return Err(stopped(message, &attempt));
            }
            if self.max_attempts.is_some_and(|most| number >= most) {
                self.show(message, &attempt, "given_up", "given up (--max-attempts)")?;
                return Ok(false);
            }
            let pause = full_jitter(FIRST_PAUSE, LONGEST_PAUSE, number);
            self.show(message, &attempt, "retrying", &format!("again in {}", latency(pause)))?;
            self.show_status(&format!("retrying {}, {} waiting", message.sequence, queue.waiting()));
            tokio::time::sleep(pause).await;
            number = number.saturating_add(1);
        }
    }

    fn show(&self, message: &Message, attempt: &Try, outcome: &str, note: &str) -> Result<()> {
        if self.screen.json {
            return self.screen.line(&attempt_json(message, attempt, outcome).to_string());
        }
        self.screen.line(&attempt_line(&self.screen, message, attempt, note))
    }

    /// Forwards only: what was skipped is told behind newer messages.
    fn move_cursor(&mut self, sequence: i64) {
        if self.progress.cursor.is_some_and(|cursor| cursor >= sequence) {
            return;
        }
        self.progress.cursor = Some(sequence);
        self.progress.newest = self.progress.newest.max(sequence);
        if let Err(error) = self.cursor.write(sequence)
            && !std::mem::replace(&mut self.progress.cursor_fault_shown, true)
        {
            self.say(Colour::Bad, &format!("{error:#}; the next run will send again what this one delivers"));
        }
    }

    fn say(&self, colour: Colour, text: &str) {
        self.screen.note(&self.screen.paint_note.paint(colour, text));
    }

    fn show_status(&self, state: &str) {
        let progress = &self.progress;
        let behind = match progress.cursor {
            Some(cursor) if progress.newest > cursor => format!(" · {} behind", progress.newest - cursor),
            _ => String::new(),
        };
        let given_up = match progress.given_up {
            0 => String::new(),
            count => format!(" · {count} given up"),
        };
        let shown = self.courier.target().shown();
        self.screen.status(format!(
            "{} → {shown} · {state} · {} delivered{given_up}{behind}",
            self.source, progress.delivered
        ));
    }
}

fn stopped(message: &Message, attempt: &Try) -> anyhow::Error {
    let what = match (&attempt.outcome, attempt.status()) {
        (Outcome::Refused(_), Some(status)) => format!("was answered with {status}"),
        _ => "got no answer".to_owned(),
    };
    let why = attempt.why().filter(|why| !why.is_empty()).map(|why| format!(": {why}")).unwrap_or_default();
    Failed(format!("event {} {what}{why}; stopped (--exit-on-error)", message.sequence)).into()
}

fn events(count: i64) -> &'static str {
    if count == 1 { "event" } else { "events" }
}
