//! The list of deliveries, how their subscriptions stand, and what can be done with many at once.

use super::fields::{choice, moment, paging as paging_links, source_choice};
use super::layout::{csrf, page};
use super::receivers::last;
use super::standing::Board;
use super::words::{badge, when};
use super::{bulk, plot};
use crate::api::deliveries::{Key, page as read_page};
use crate::api::paging;
use crate::api::push::visible;
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::ops::events::visible_sources;
use crate::store;
use crate::store::deliveries::DeliveryRow;
use hooks_shared::push::subscriptions::Subscription;
use maud::{Markup, html};

const ROWS: i64 = 50;
const STATES: [(&str, &str); 6] = [
    ("", "any"),
    ("pending", "pending"),
    ("processing", "processing"),
    ("delivered", "delivered"),
    ("failed", "failed"),
    ("cancelled", "cancelled"),
];
const FILTERS: [&str; 5] = ["subscription", "source", "state", "from", "to"];

pub async fn list(call: Call) -> Result<Answer, Error> {
    let sources = visible_sources(&*call.session().await?, &call.who.sight(), None).await?;
    let subscriptions = visible(&call, None).await?;
    let names = names_of(&subscriptions);
    let behind: Key = paging::cursor(&call)?.unwrap_or_default();
    let (found, next) = read_page(&call, &call.query, behind, ROWS).await?;
    let next = next.map(|key| paging::link(&call, &key));
    let content = html! {
        (standing(&call, &subscriptions).await?)
        h2 { "Deliveries" }
        form.row method="get" action="/deliveries" {
            (choice("subscription", "Subscription", &names, call.query.get("subscription")))
            (source_choice(&sources, call.query.get("source")))
            (choice("state", "State", &STATES, call.query.get("state")))
            (moment(&call, "from", "Made from"))
            (moment(&call, "to", "Made before"))
            button.first { "Show" }
            @if FILTERS.iter().any(|name| call.query.has(name)) { a.button href="/deliveries" { "Clear" } }
        }
        (table(&call, &found.rows, next.is_some()))
        (paging_links(&call, next.as_deref()))
        @if call.who.is_admin() { (bulk::forms(&call, &names, &sources)) }
    };
    Ok(page(&call, "Deliveries", content))
}

/// Choices of a filter.
fn names_of(subscriptions: &[Subscription]) -> Vec<(&str, &str)> {
    let each = subscriptions.iter().map(|one| (one.id.as_str(), one.name.as_str()));
    std::iter::once(("", "all")).chain(each).collect()
}

/// All subscriptions on the first page, or the one that is asked for with its attempts.
async fn standing(call: &Call, subscriptions: &[Subscription]) -> Result<Markup, Error> {
    if call.query.has("cursor") {
        return Ok(html! {});
    }
    let asked = call.query.get("subscription");
    match asked.map(|id| subscriptions.iter().find(|one| one.id == id)) {
        Some(Some(one)) => {
            let board = Board::of(call, vec![one.clone()]).await?;
            let recent = store::deliveries::latency(&*call.session().await?, &one.id, &one.source).await?;
            Ok(html! { (board.tiles()) (plot::attempts("Attempts of the newest deliveries", &recent)) })
        }
        Some(None) => Ok(html! {}),
        None => {
            let board = Board::of(call, subscriptions.to_vec()).await?;
            Ok(board.table("No push subscription: nothing is owed to anybody."))
        }
    }
}

fn table(call: &Call, rows: &[DeliveryRow], more: bool) -> Markup {
    let admin = call.who.is_admin();
    let can = |row: &DeliveryRow| admin && matches!(row.state.as_str(), "failed" | "pending");
    html! { form method="post" action="/deliveries/replay" {
        (csrf(&call.who))
        input type="hidden" name="go" value="1";
        div.card.scroll { table.rows {
            thead { tr {
                @if admin { th { input type="checkbox" data-all="id" aria-label="All rows" hidden; span.sr { "Choose" } } }
                th { "Event" } th { "Subscription" } th { "State" } th.num { "Attempts" } th { "Last answer" } th { "Next or end" }
            } }
            tbody {
                @for row in rows { tr {
                    @if admin { td { @if can(row) { input type="checkbox" name="id" value=(row.id) aria-label=(format!("{} #{}", row.source, row.sequence)); } } }
                    td { a href=(format!("/deliveries/{}", row.id)) { (row.source) " #" (row.sequence) } }
                    td { a href=(format!("/push/{}", row.subscription_id)) { (row.subscription_name) } }
                    td { (badge(&row.state)) }
                    td.num data-l="attempts" { (row.attempts) }
                    td.wrap { (last(row)) }
                    td { (when(row.completed_at.unwrap_or(row.next_attempt_at))) }
                } }
                @if rows.is_empty() { tr { td.none colspan="7" {
                    @if more { "Nothing in the stretch that was looked at; go on to older ones." } @else { "No deliveries." }
                } } }
            }
        } }
        @if rows.iter().any(can) { div.buttons {
            button { "Replay the chosen failed ones" }
            button.danger formaction="/deliveries/cancel" { "Cancel the chosen pending ones" }
        } }
    } }
}
