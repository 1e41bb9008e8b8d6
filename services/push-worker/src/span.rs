//! What the span of an attempt says (deploy/README.md, "Traces").

use crate::attempt::Job;
use crate::outcome::Outcome;
use hooks_shared::spans::{Done, Place, Spans};
use std::time::Duration;
use time::OffsetDateTime;

/// Hands over the span of an attempt that has just ended.
pub fn attempted(
    spans: &Spans,
    job: &Job,
    outcome: Outcome,
    status: Option<u16>,
    ended: OffsetDateTime,
    duration: Duration,
) {
    if !spans.are_collected() {
        return;
    }
    let event = &job.fetched.event;
    let mut attributes = vec![
        ("hooks.source", event.source.clone().into()),
        ("hooks.event_id", event.event_id.clone().into()),
        ("hooks.sequence", event.sequence.into()),
        ("hooks.subscription", job.definition.id.clone().into()),
        ("hooks.delivery", job.claim.id.clone().into()),
        ("hooks.attempt", i64::from(job.claim.attempts.saturating_add(1)).into()),
        ("hooks.outcome", outcome.as_str().into()),
    ];
    attributes.extend(status.map(|status| ("http.response.status_code", i64::from(status).into())));
    let done = Done {
        name: format!("push {}", event.source),
        began: ended - duration,
        ended,
        attributes,
        failure: (outcome != Outcome::Succeeded).then_some(outcome.as_str()),
    };
    spans.sent_on(&Place::of(&event.event_id, &event.headers), done);
}
