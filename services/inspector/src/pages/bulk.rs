//! Replaying and cancelling many deliveries: chosen ones at once, those of a filter after a plan.

use super::fields::{choice, source_choice};
use super::layout::{csrf, detail};
use super::words::{count, full_or};
use crate::api::deliveries::run_replay;
use crate::error::Error;
use crate::http::{Answer, Call, Pairs};
use crate::ops::push::acting;
use crate::store;
use hooks_shared::push::OperatorError;
use hooks_shared::push::deliveries::{self, Filter};
use maud::{Markup, html};
use time::OffsetDateTime;

/// Chosen ones of one request.
const MOST_CHOSEN: usize = 500;

pub fn forms(call: &Call, names: &[(&str, &str)], sources: &[String]) -> Markup {
    let chosen = call.query.get("subscription");
    html! {
        h2 { "Replay failed deliveries by filter" }
        form.row method="post" action="/deliveries/replay" {
            (csrf(&call.who))
            (choice("subscription", "Subscription", names, chosen))
            (source_choice(sources, call.query.get("source")))
            label { "Last status" input name="status" inputmode="numeric" placeholder="503" autocomplete="off"; }
            (time("from", "Received from"))
            (time("to", "Received before"))
            button { "Plan the replay" }
        }
        h2 { "Cancel pending deliveries by filter" }
        form.row method="post" action="/deliveries/cancel" {
            (csrf(&call.who))
            (choice("subscription", "Subscription", names.get(1..).unwrap_or_default(), chosen))
            (time("from", "Received from"))
            (time("to", "Received before"))
            button disabled[names.len() < 2] { "Plan the cancellation" }
        }
    }
}

fn time(name: &str, label: &str) -> Markup {
    html! { label { (label) " (UTC)" input type="datetime-local" step="1" name=(name); } }
}

fn chosen(form: &Pairs) -> Result<Option<Vec<String>>, Error> {
    let ids: Vec<String> = form.all("id").map(str::to_owned).collect();
    match ids.len() {
        0 => Ok(None),
        n if n > MOST_CHOSEN => Err(Error::invalid(format!("choose at most {MOST_CHOSEN} deliveries"))),
        _ if ids.iter().any(|id| id.contains('\0')) => Err(Error::NotFound("delivery")),
        _ => Ok(Some(ids)),
    }
}

fn filter_of(form: &Pairs) -> Result<Filter, Error> {
    Ok(Filter {
        subscription: form.text("subscription")?,
        source: form.text("source")?,
        state: None,
        from: form.moment("from")?,
        to: form.moment("to")?,
        status: form.number("status", 100, 999)?.map(|status| status as i32),
        ids: chosen(form)?,
    })
}

pub async fn replay(call: Call) -> Result<Answer, Error> {
    let form = call.form()?;
    let filter = filter_of(&form)?;
    if form.flag("go") {
        if filter == Filter::default() && !form.flag("all") {
            return Err(Error::invalid("choose at least one delivery"));
        }
        let done = run_replay(&call, &filter, false).await?;
        return Ok(Answer::see(format!("/deliveries?done=replayed&n={}", done.count)));
    }
    let plan = run_replay(&call, &filter, true).await?;
    let plan =
        Plan { count: plan.count, oldest: plan.oldest.map(|at| at.0), newest: plan.newest.map(|at| at.0) };
    let content = plan.page(&call, &form, "/deliveries/replay", "Failed deliveries", "Replay");
    Ok(detail(&call, ("Deliveries", "/deliveries"), "Plan of a replay", content))
}

pub async fn cancel(call: Call) -> Result<Answer, Error> {
    let form = call.form()?;
    if let Some(ids) = chosen(&form)? {
        let cancelled = cancel_chosen(&call, &ids).await?;
        return Ok(Answer::see(format!("/deliveries?done=cancelled&n={cancelled}")));
    }
    let subscription =
        form.text("subscription")?.ok_or(Error::invalid("choose a subscription, or deliveries"))?;
    let (from, to) = (form.moment("from")?, form.moment("to")?);
    let db = acting(&call).await?;
    if form.flag("all") {
        let cancelled = deliveries::cancel_where(&db, &call.who.label(), &subscription, from, to).await?;
        return Ok(Answer::see(format!("/deliveries?done=cancelled&n={cancelled}")));
    }
    let found = store::deliveries::plan_cancel(&db, &subscription, from, to).await?;
    let plan = Plan { count: found.count, oldest: found.oldest, newest: found.newest };
    let content = plan.page(&call, &form, "/deliveries/cancel", "Pending deliveries", "Cancel");
    Ok(detail(&call, ("Deliveries", "/deliveries"), "Plan of a cancellation", content))
}

/// How many of the chosen ones were pending and are cancelled now.
async fn cancel_chosen(call: &Call, ids: &[String]) -> Result<i64, Error> {
    let db = acting(call).await?;
    let mut cancelled = 0;
    for id in ids {
        match deliveries::cancel(&db, &call.who.label(), id).await {
            Ok(()) => cancelled += 1,
            // It moved on since the page was made.
            Err(OperatorError::NotCancellable { .. } | OperatorError::NoDelivery(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(cancelled)
}

/// What would be done.
struct Plan {
    count: i64,
    oldest: Option<OffsetDateTime>,
    newest: Option<OffsetDateTime>,
}

impl Plan {
    fn page(&self, call: &Call, form: &Pairs, action: &str, what: &str, verb: &str) -> Markup {
        let fields = ["subscription", "source", "status", "from", "to"];
        let many = count(self.count, 10_000);
        html! {
            div.card { dl.facts {
                dt { (what) } dd { strong { (many) } }
                dt { "Oldest event" } dd { (full_or(self.oldest, "–")) }
                dt { "Newest event" } dd { (full_or(self.newest, "–")) }
                @for name in fields { @if let Some(value) = form.get(name) { dt { (name) } dd { (value) } } }
            } }
            @if self.count > 0 {
                p.faint { "Done to what is like this when the button is pressed: what comes in between is part of it." }
                form.buttons method="post" action=(action) {
                    (csrf(&call.who))
                    input type="hidden" name="go" value="1";
                    input type="hidden" name="all" value="1";
                    @for name in fields { input type="hidden" name=(name) value=(form.get(name).unwrap_or_default()); }
                    button.first { (verb) " " (many) }
                    a.button href="/deliveries" { "Leave it" }
                }
            } @else { p { "None is like that. " } p { a.button href="/deliveries" { "Back" } } }
        }
    }
}
