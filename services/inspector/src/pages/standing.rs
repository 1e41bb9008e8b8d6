//! How push subscriptions stand: one in tiles, many in a table.

use super::words::{badge, count, duration, percent};
use crate::error::Error;
use crate::http::Call;
use crate::ops::standing::why;
use crate::store;
use crate::store::standing::Standing;
use hooks_shared::push::subscriptions::Subscription;
use maud::{Markup, html};
use std::collections::HashMap;
use time::OffsetDateTime;

/// Rows of the table; who has more chooses one of them.
const MOST: usize = 50;
/// Deliveries that success and times are told by.
const NEWEST_OF_ONE: i64 = 200;
const NEWEST_OF_MANY: i64 = 20;
/// What [`Subscription::open`] and `failed` are counted up to.
const COUNTED: i64 = 1_000;

/// The subscriptions with how they stand, and the push-workers alive.
#[derive(Debug)]
pub struct Board {
    rows: Vec<(Subscription, Standing)>,
    hidden: usize,
    workers: usize,
}

impl Board {
    /// Of these subscriptions: those in trouble first, then by what they are owed.
    pub async fn of(call: &Call, mut all: Vec<Subscription>) -> Result<Self, Error> {
        all.sort_by_key(|one| {
            let trouble = one.state != "active" || one.strikes > 0 || one.failed > 0;
            (!trouble, -(one.behind + one.open), one.name.clone())
        });
        let hidden = all.len().saturating_sub(MOST);
        all.truncate(MOST);
        let ids: Vec<&str> = all.iter().map(|one| one.id.as_str()).collect();
        let newest = if ids.len() == 1 { NEWEST_OF_ONE } else { NEWEST_OF_MANY };
        let db = call.session().await?;
        let mut standing: HashMap<String, Standing> = store::standing::standing(&db, &ids, newest).await?;
        let processes = store::listeners::instances(&db).await?;
        let workers = processes.iter().filter(|one| one.alive && one.service == "push-worker").count();
        let rows = all.into_iter().map(|one| {
            let stands = standing.remove(&one.id).unwrap_or_default();
            (one, stands)
        });
        Ok(Self { rows: rows.collect(), hidden, workers })
    }

    fn why(&self, one: &Subscription, standing: &Standing) -> String {
        why(one, standing, self.workers, OffsetDateTime::now_utc())
    }

    /// A row for each.
    pub fn table(&self, empty: &str) -> Markup {
        html! { div.card.scroll { table.rows {
            thead { tr {
                th { "Subscription" } th { "Source" } th { "State" } th.num { "Owed" } th.num { "Oldest due" } th.num { "Failed" }
                th.num { "Success" } th.num { "Median" } th { "Why it stands as it does" }
            } }
            tbody {
                @for (one, standing) in &self.rows { tr {
                    td.lead { a href=(format!("/push/{}", one.id)) { (one.name) } }
                    td { (one.source) }
                    td { (badge(&one.state)) }
                    td.num data-l="owed" { (owed(one)) }
                    td.num data-l="oldest due" { (oldest(standing)) }
                    td.num data-l="failed" { @if one.failed > 0 { a href=(format!("/deliveries?subscription={}&state=failed", one.id)) { (count(one.failed, COUNTED)) } } @else { "0" } }
                    td.num data-l="success" { (percent(standing.succeeded, standing.attempts)) }
                    td.num data-l="median" { (millis(standing.median_ms)) }
                    td.wrap { (self.why(one, standing)) }
                } }
                @if self.rows.is_empty() { tr { td.none colspan="9" { (empty) } } }
            }
        } }
        @if self.hidden > 0 { p.faint { (self.hidden) " more are not shown here; choose one above." } } }
    }

    /// The first, in tiles and a sentence.
    pub fn tiles(&self) -> Markup {
        html! { @if let Some((one, standing)) = self.rows.first() {
            p class=(if one.state == "active" && one.strikes == 0 { "note" } else { "note bad" }) {
                strong { "Where it stands: " } (self.why(one, standing)) "."
            }
            div.tiles {
                div.tile { b { (owed(one)) } span { a href=(format!("/deliveries?subscription={}&state=pending", one.id)) { "owed" } } }
                div.tile { b { (oldest(standing)) } span { "oldest due since" } }
                div class=(if one.failed > 0 { "tile bad" } else { "tile" }) { b { (count(one.failed, COUNTED)) } span { a href=(format!("/deliveries?subscription={}&state=failed", one.id)) { "failed" } } }
                div.tile { b { (percent(standing.succeeded, standing.attempts)) } span { "of " (standing.attempts) " newest attempts succeeded" } }
                div.tile { b { (millis(standing.median_ms)) } span { "median, 95 % within " (millis(standing.slow_ms)) } }
                div.tile { b { (standing.busy) } span { "under way, at most " (one.max_in_flight) } }
            }
        } }
    }
}

fn owed(one: &Subscription) -> String {
    count(one.behind + one.open, i64::MAX)
}

fn oldest(standing: &Standing) -> String {
    standing.due_seconds.filter(|seconds| *seconds > 0.0).map_or("–".to_owned(), duration)
}

fn millis(ms: Option<f64>) -> String {
    ms.map_or("–".to_owned(), |ms| duration(ms / 1000.0))
}
