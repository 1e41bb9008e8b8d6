//! `hooksctl tail`: shows events as they come.

use crate::interrupt::unless_interrupted;
use crate::moment::parse_since;
use crate::options::Global;
use crate::output::{Colour, Screen, bytes, preview, printable};
use crate::stream::{BodyOf, Comment, Item, Message, Start, read};
use anyhow::Result;

/// Characters of a body that a line shows.
const SHOWN: usize = 80;

/// Show the events of a source as they come; Ctrl-C ends it. Talks to: the subscribe service.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The source
    source: String,
    /// Start after this sequence number, or `latest` for new events only. Events older than the source's
    /// skew window are left out when catching up; `hooksctl events` has them all
    #[arg(long, allow_negative_numbers = true, value_parser = parse_since, default_value = "0", value_name = "SEQUENCE|latest")]
    since: Start,
    /// End after this many events
    #[arg(long, short = 'n', value_name = "N")]
    count: Option<u64>,
}

pub async fn run(global: &Global, args: Args) -> Result<()> {
    let mut tail = Tail { screen: Screen::plain(global.json), source: args.source, last: None };
    let endpoint = global.subscribe()?;
    let done = unless_interrupted(tail.follow(endpoint, args.since, args.count)).await;
    if let Some(last) = tail.last {
        tail.screen.note(&format!("last seen: {last}"));
    }
    done
}

struct Tail {
    screen: Screen,
    source: String,
    last: Option<i64>,
}

impl Tail {
    async fn follow(
        &mut self,
        endpoint: crate::server::Endpoint,
        since: Start,
        count: Option<u64>,
    ) -> Result<()> {
        let mut queue = read(endpoint, self.source.clone(), since);
        let mut left = count.unwrap_or(u64::MAX);
        while left > 0 {
            match queue.next().await {
                None => break,
                Some(Item::Stopped(error)) => return Err(error),
                Some(Item::Message(message)) => {
                    self.show(&message)?;
                    left -= 1;
                }
                Some(item) => self.remark(&item),
            }
        }
        Ok(())
    }

    fn show(&mut self, message: &Message) -> Result<()> {
        if message.moves_cursor {
            self.last = self.last.max(Some(message.sequence));
        }
        if self.screen.json {
            return self.screen.line(&message.to_json().to_string());
        }
        self.screen.line(&self.line(message))
    }

    fn line(&self, message: &Message) -> String {
        let paint = self.screen.paint;
        let event_type = message.event_type.as_deref().map_or("-".to_owned(), printable);
        let body = match &message.body {
            BodyOf::Here(body) => preview(body, SHOWN),
            BodyOf::At { .. } => "(large: `hooksctl events show` has it)".to_owned(),
        };
        let again = if message.moves_cursor { "" } else { " replay" };
        format!(
            "{} {} delivery={} type={} size={}{} body={}",
            paint.paint(Colour::Name, &printable(&message.source)),
            paint.paint(Colour::Strong, &format!("seq={}", message.sequence)),
            printable(&message.delivery_id),
            event_type,
            bytes(message.body_bytes()),
            again,
            paint.paint(Colour::Faint, &body),
        )
    }

    fn remark(&mut self, item: &Item) {
        let source = &self.source;
        match item {
            Item::Comment(Comment::Skipped { count, first, last }) => {
                self.last = self.last.max(Some(*last));
                self.screen.note(&format!(
                    "{count} events ({first}..{last}) are older than the skew window and were left out; \
                     see them with `hooksctl events list {source} --after {} --before {}`",
                    first - 1,
                    last + 1
                ));
            }
            Item::Comment(Comment::AheadOfLog) => self.screen.note(
                "this cursor is ahead of the newest event: nothing comes until the log gets there \
                 (was it restored from a backup?); start lower with --since",
            ),
            Item::Lost { why, pause } => {
                self.screen.note(&format!("{why}; trying again in {:.1} s", pause.as_secs_f64()));
            }
            Item::Connected(connected) if connected.again => self.screen.note("connected again"),
            Item::Unreadable { sequence, why } => {
                let number = sequence.map_or("without number".to_owned(), |n| n.to_string());
                self.screen.note(&format!("the event {number} cannot be shown: {}", printable(why)));
            }
            _ => {}
        }
    }
}
