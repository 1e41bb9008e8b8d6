//! How a push subscription stands, and the answer to "why is it not moving?".

use crate::store::standing::Standing;
use hooks_shared::push::subscriptions::Subscription;
use time::OffsetDateTime;

/// Fan-out waits while a subscription has this many deliveries open.
const MOST_OPEN: i64 = 1_000;

/// What keeps it from moving, or how it moves, in words. `workers` are the push-workers that have spoken lately.
pub fn why(one: &Subscription, standing: &Standing, workers: usize, now: OffsetDateTime) -> String {
    let owed = one.behind + one.open;
    if one.state != "active" {
        let by = one.state_by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
        let reason = one.state_reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        return format!("the subscription is {}{by}{reason}; {owed} owed until it is resumed", one.state);
    }
    if owed == 0 {
        return "up to date: nothing is owed".to_owned();
    }
    if workers == 0 {
        return format!("no push-worker has spoken in the last 30 s; {owed} owed");
    }
    if let Some(at) = one.probe_at.filter(|at| *at > now) {
        return format!(
            "the receiver did not answer {} times in a row: one request tries again in {} s",
            one.strikes,
            (at - now).whole_seconds().max(1)
        );
    }
    if standing.busy >= one.max_in_flight {
        return format!("moving: {} requests are under way, as many as it may have at once", standing.busy);
    }
    if one.ordered && standing.busy > 0 {
        return "moving in order: one request is under way and the others wait for it".to_owned();
    }
    match standing.due_seconds {
        Some(seconds) if seconds < 0.0 && standing.busy == 0 => {
            let wait = (-seconds).ceil();
            let order = if one.ordered { ", and later events wait for it to keep the order" } else { "" };
            format!("every open delivery waits for its next attempt; the first is due in {wait} s{order}")
        }
        _ if standing.room == 0 && one.rate.is_some() => {
            "held to its rate: the next request goes out as soon as the rate allows".to_owned()
        }
        _ if one.open >= MOST_OPEN => {
            format!("moving: {} under way; new events wait while 1,000 deliveries are open", standing.busy)
        }
        _ => format!("moving: {} under way, the next free worker takes what is due", standing.busy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::Duration;

    fn subscription() -> Subscription {
        let at = OffsetDateTime::UNIX_EPOCH;
        Subscription {
            id: "sub_1".into(),
            name: "warehouse".into(),
            source: "orders".into(),
            url: "https://example.com".into(),
            signing: "hooks".into(),
            max_in_flight: 2,
            rate: None,
            ordered: false,
            on_failure: "park".into(),
            preserve_method: false,
            forward_credentials: false,
            record_response: 0,
            retry: None,
            created_at: at,
            created_by: "ada".into(),
            updated_at: at,
            previous_secret_until: None,
            state: "active".into(),
            state_reason: None,
            state_by: None,
            state_at: at,
            cursor: 1,
            behind: 0,
            open: 3,
            failed: 0,
            strikes: 0,
            probe_at: None,
            failing_since: None,
        }
    }

    #[test]
    fn the_first_thing_that_holds_it_is_told() {
        let now = OffsetDateTime::UNIX_EPOCH + Duration::DAY;
        let idle = Standing { room: 2, due_seconds: Some(4.0), ..Standing::default() };
        let told = |one: &Subscription, standing: &Standing| why(one, standing, 1, now);
        let one = subscription();
        assert!(told(&one, &idle).starts_with("moving: 0 under way"));
        assert!(told(&Subscription { open: 0, ..one.clone() }, &idle).starts_with("up to date"));
        let paused = Subscription { state: "paused".into(), state_by: Some("ada".into()), ..one.clone() };
        assert_eq!(told(&paused, &idle), "the subscription is paused by ada; 3 owed until it is resumed");
        assert!(why(&one, &idle, 0, now).starts_with("no push-worker"));
        let silent = Subscription { strikes: 5, probe_at: Some(now + Duration::MINUTE), ..one.clone() };
        assert!(told(&silent, &idle).contains("5 times in a row: one request tries again in 60 s"));
        assert!(told(&one, &Standing { busy: 2, ..idle.clone() }).contains("as many as it may have"));
        let later = Standing { due_seconds: Some(-9.5), ..idle.clone() };
        assert!(told(&one, &later).ends_with("due in 10 s"));
        let ordered = Subscription { ordered: true, ..one.clone() };
        assert!(told(&ordered, &Standing { busy: 1, ..later.clone() }).starts_with("moving in order"));
        assert!(told(&ordered, &later).ends_with("keep the order"));
        let slow = Subscription { rate: Some(1.0), ..one.clone() };
        assert!(told(&slow, &Standing { room: 0, ..idle.clone() }).starts_with("held to its rate"));
    }
}
