//! Deliveries: lists, one with its history, replay and cancel.

use super::event::last;
use super::layout::{badge, choice, csrf, next_link, page, source_choice, when, when_or};
use crate::api::deliveries::{BulkPlan, Key, find, page as read_page, run_replay};
use crate::api::paging;
use crate::api::push::visible;
use crate::error::Error;
use crate::http::{Answer, Call, Pairs, encode};
use crate::ops::events::visible_sources;
use crate::ops::push::acting;
use crate::store::deliveries::DeliveryRow;
use hooks_shared::push::deliveries::{self, Detail, Filter};
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

pub async fn list(call: Call) -> Result<Answer, Error> {
    let sources = visible_sources(&*call.session().await?, &call.who.sight(), None).await?;
    let subscriptions = visible(&call, None).await?;
    let names: Vec<(&str, &str)> = std::iter::once(("", "all"))
        .chain(subscriptions.iter().map(|one| (one.id.as_str(), one.name.as_str())))
        .collect();
    let behind: Key = paging::cursor(&call)?.unwrap_or_default();
    let (found, next) = read_page(&call, &call.query, behind, ROWS).await?;
    let next = next.map(|key| paging::link(&call, &key));
    let content = html! {
        form.row method="get" action="/deliveries" {
            (choice("subscription", "Subscription", &names, call.query.get("subscription")))
            (source_choice(&sources, call.query.get("source")))
            (choice("state", "State", &STATES, call.query.get("state")))
            button.first { "Show" }
        }
        (table(&call, &found.rows, next.is_some()))
        (next_link(next.as_deref()))
        @if call.who.is_admin() { (bulk_form(&call, &names, &sources)) }
    };
    Ok(page(&call, "Deliveries", content))
}

fn table(call: &Call, rows: &[DeliveryRow], more: bool) -> Markup {
    let admin = call.who.is_admin();
    html! { form method="post" action="/deliveries/replay" {
        (csrf(&call.who))
        input type="hidden" name="go" value="1";
        div.card.scroll { table {
            thead { tr {
                th { @if admin { input type="checkbox" data-all="id" aria-label="All rows"; } }
                th { "Event" } th { "Subscription" } th { "State" } th.num.wide { "Attempts" } th.wide { "Last" } th { "Next or end" }
            } }
            tbody {
                @for row in rows { tr {
                    td { @if admin && row.state == "failed" { input type="checkbox" name="id" value=(row.id) aria-label=(format!("{} #{}", row.source, row.sequence)); } }
                    td { a href=(format!("/deliveries/{}", row.id)) { (row.source) " #" (row.sequence) } }
                    td { a href=(format!("/push/{}", row.subscription_id)) { (row.subscription_name) } }
                    td { (badge(&row.state)) }
                    td.num.wide { (row.attempts) }
                    td.wide.wrap { (last(row)) }
                    td { (when(row.completed_at.unwrap_or(row.next_attempt_at))) }
                } }
                @if rows.is_empty() {
                    tr { td colspan="7" { @if more { "Nothing in the stretch that was looked at; go on to older ones." } @else { "No deliveries." } } }
                }
            }
        } }
        @if admin && rows.iter().any(|row| row.state == "failed") { button { "Replay the chosen ones" } }
    } }
}

fn bulk_form(call: &Call, names: &[(&str, &str)], sources: &[String]) -> Markup {
    html! {
        h2 { "Replay failed deliveries" }
        form.row method="post" action="/deliveries/replay" {
            (csrf(&call.who))
            (choice("subscription", "Subscription", names, call.query.get("subscription")))
            (source_choice(sources, call.query.get("source")))
            label { "Last status" input name="status" inputmode="numeric" placeholder="503"; }
            label { "Received from (UTC)" input name="from" placeholder="2026-05-09T14:00:00Z"; }
            label { "Received before (UTC)" input name="to" placeholder="2026-05-09T15:00:00Z"; }
            button { "Plan" }
        }
    }
}

fn filter_of(form: &Pairs) -> Result<Filter, Error> {
    let ids: Vec<String> = form.all("id").map(str::to_owned).collect();
    Ok(Filter {
        subscription: form.text("subscription")?,
        source: form.text("source")?,
        state: None,
        from: form.moment("from")?,
        to: form.moment("to")?,
        status: form.number("status", 100, 999)?.map(|status| status as i32),
        ids: (!ids.is_empty()).then_some(ids),
    })
}

/// First a plan, then the doing.
pub async fn bulk(call: Call) -> Result<Answer, Error> {
    let form = call.form()?;
    let filter = filter_of(&form)?;
    if form.flag("go") {
        if filter == Filter::default() && !form.flag("all") {
            return Err(Error::invalid("choose at least one delivery"));
        }
        run_replay(&call, &filter, false).await?;
        return Ok(Answer::see("/deliveries?done=replayed"));
    }
    let plan = run_replay(&call, &filter, true).await?;
    Ok(page(&call, "Replay failed deliveries", confirm(&call, &form, &plan)))
}

fn confirm(call: &Call, form: &Pairs, plan: &BulkPlan) -> Markup {
    let fields = ["subscription", "source", "status", "from", "to"];
    html! {
        div.card { dl.facts {
            dt { "Failed deliveries" } dd { strong { (plan.count) } }
            dt { "Oldest event" } dd { (when_or(plan.oldest.map(|at| at.0), "–")) }
            dt { "Newest event" } dd { (when_or(plan.newest.map(|at| at.0), "–")) }
            @for name in fields { @if let Some(value) = form.get(name) { dt { (name) } dd { (value) } } }
        } }
        @if plan.count > 0 {
            form method="post" action="/deliveries/replay" {
                (csrf(&call.who))
                input type="hidden" name="go" value="1";
                input type="hidden" name="all" value="1";
                @for name in fields { input type="hidden" name=(name) value=(form.get(name).unwrap_or_default()); }
                button.first { "Replay " (plan.count) }
                " " a.button href="/deliveries" { "Leave it" }
            }
        } @else { p { a.button href="/deliveries" { "Back" } } }
    }
}

pub async fn show(call: Call) -> Result<Answer, Error> {
    let detail = find(&call).await?;
    let delivery = &detail.delivery;
    let event = format!("/events/{}/{}", encode(&delivery.source), delivery.sequence);
    let content = html! {
        p.note { strong { "Where it stands: " } (detail.why) }
        (actions(&call, &detail))
        div.card { dl.facts {
            dt { "Event" } dd { a href=(event) { (delivery.source) " #" (delivery.sequence) } ", received " (when(delivery.received_at)) }
            dt { "Subscription" } dd { a href=(format!("/push/{}", delivery.subscription_id)) { (detail.subscription_name) } " " (badge(&detail.subscription_state)) }
            dt { "State" } dd { (badge(&delivery.state)) @if delivery.replayed { " replayed" } }
            dt { "Attempts" } dd { (delivery.attempts) ", " (delivery.cycle_attempts) " in this cycle" }
            dt { "Due" } dd { (when(delivery.next_attempt_at)) " (" (delivery.due_because.replace('_', " ")) ")" }
            dt { "Ahead of it" } dd { (detail.ahead) ", " (detail.in_flight) " under way" }
            dt { "Made" } dd { (when(delivery.created_at)) }
            dt { "Ended" } dd { (when_or(delivery.completed_at, "not yet")) }
            dt { "Id" } dd { code { (delivery.id) } }
        } }
        h2 { "Attempts" }
        (history(&detail))
    };
    Ok(page(&call, &format!("Delivery of {} #{}", delivery.source, delivery.sequence), content))
}

fn actions(call: &Call, detail: &Detail) -> Markup {
    let action = |name: &str| format!("/deliveries/{}/{name}", detail.delivery.id);
    html! { @if call.who.is_admin() { div.buttons {
        @if detail.delivery.state == "failed" {
            form.inline method="post" action=(action("replay")) { (csrf(&call.who)) button.first { "Replay" } }
        }
        @if detail.delivery.state == "pending" {
            form.inline method="post" action=(action("cancel")) data-ask="Cancel this delivery?" {
                (csrf(&call.who)) button.danger { "Cancel" }
            }
        }
    } } }
}

fn history(detail: &Detail) -> Markup {
    html! { div.card.scroll { table {
        thead { tr { th.num { "#" } th { "Started" } th { "Outcome" } th.num { "Took" } th { "Answer" } th.wide { "To" } th.wide { "Worker" } } }
        tbody {
            @for attempt in &detail.attempt_history { tr {
                td.num { (attempt.number) }
                td { (when(attempt.started_at)) }
                td { (badge(&attempt.outcome)) @if attempt.late { " " span.badge { "late" } } }
                td.num { (attempt.duration_ms) " ms" }
                td.wrap {
                    @if let Some(status) = attempt.status { (status) " " }
                    @if let Some(error) = &attempt.error { (error) }
                    @if let Some(response) = &attempt.response { pre { (response) } }
                }
                td.wide.wrap { code { (attempt.url) } }
                td.wide { (attempt.worker) }
            } }
            @if detail.attempt_history.is_empty() { tr { td colspan="7" { "No request went out yet." } } }
        }
    } } }
}

pub async fn replay(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    let id = call.param("id");
    deliveries::replay(&*acting(&call).await?, &call.who.label(), id).await?;
    Ok(Answer::see(format!("/deliveries/{}?done=replayed", encode(id))))
}

pub async fn cancel(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    let id = call.param("id");
    deliveries::cancel(&*acting(&call).await?, &call.who.label(), id).await?;
    Ok(Answer::see(format!("/deliveries/{}?done=cancelled", encode(id))))
}
