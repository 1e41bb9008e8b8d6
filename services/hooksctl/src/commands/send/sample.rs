//! A sample event of each provider that people try first, and one for all the others.

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A body and what goes with it.
#[derive(Debug, Clone)]
pub struct Sample {
    pub body: Vec<u8>,
    pub content_type: &'static str,
    pub event_type: String,
}

/// The sample for a preset. An event type that was asked for replaces the sample's own.
pub fn sample(preset: Option<&str>, event_type: Option<&str>, id: &str, now: OffsetDateTime) -> Sample {
    let unix = now.unix_timestamp();
    let at = now.replace_nanosecond(0).unwrap_or(now).format(&Rfc3339).unwrap_or_default();
    let (usual, body): (&str, Body) = match preset.unwrap_or_default() {
        "github" => ("push", Box::new(github)),
        "stripe" => ("charge.succeeded", Box::new(move |kind| stripe(kind, id, unix))),
        "slack" => ("app_mention", Box::new(move |kind| slack(kind, id, unix))),
        "render" => ("deploy_ended", Box::new(move |kind| render(kind, &at))),
        // Their signatures stand in the items.
        "adyen" => ("AUTHORISATION", Box::new(move |kind| adyen(kind, id, &at))),
        "microsoft_graph" => ("created", Box::new(move |kind| graph(kind, id))),
        _ => ("demo.greeting", Box::new(move |kind| plain(kind, id, &at))),
    };
    let event_type = event_type.unwrap_or(usual).to_owned();
    let body = body(&event_type).to_string().into_bytes();
    Sample { body, content_type: "application/json", event_type }
}

type Body<'a> = Box<dyn FnOnce(&str) -> Value + 'a>;

fn github(_: &str) -> Value {
    json!({
        "ref": "refs/heads/main",
        "before": "0000000000000000000000000000000000000000",
        "after": "6113728f27ae82c7b1a177c8d03f9e96e0adf246",
        "repository": {"id": 1, "name": "hello-world", "full_name": "octocat/hello-world"},
        "pusher": {"name": "octocat"},
        "commits": [{"id": "6113728f27ae82c7b1a177c8d03f9e96e0adf246", "message": "A sample commit"}],
    })
}

fn stripe(kind: &str, id: &str, unix: i64) -> Value {
    json!({
        "id": id,
        "object": "event",
        "type": kind,
        "created": unix,
        "livemode": false,
        "data": {"object": {"id": "ch_sample", "object": "charge", "amount": 1099, "currency": "eur", "paid": true}},
    })
}

fn slack(kind: &str, id: &str, unix: i64) -> Value {
    json!({
        "type": "event_callback",
        "event_id": id,
        "event_time": unix,
        "team_id": "T0SAMPLE",
        "api_app_id": "A0SAMPLE",
        "event": {"type": kind, "user": "U0SAMPLE", "channel": "C0SAMPLE", "text": "hello", "ts": format!("{unix}.000100")},
    })
}

fn render(kind: &str, at: &str) -> Value {
    json!({
        "type": kind,
        "timestamp": at,
        "data": {"id": "evj-sample", "serviceId": "srv-sample", "serviceName": "hello", "status": "succeeded"},
    })
}

fn adyen(kind: &str, id: &str, at: &str) -> Value {
    let item = json!({
        "eventCode": kind,
        "pspReference": id,
        "merchantAccountCode": "SampleAccount",
        "merchantReference": "sample-order",
        "amount": {"currency": "EUR", "value": 1099},
        "eventDate": at,
        "success": "true",
    });
    json!({"live": "false", "notificationItems": [{"NotificationRequestItem": item}]})
}

fn graph(kind: &str, id: &str) -> Value {
    let item = json!({
        "id": id,
        "subscriptionId": "7f105c7d-2dc5-4530-97cd-4e7ae6534c07",
        "changeType": kind,
        "resource": "me/messages/sample",
        "resourceData": {"id": "sample"},
    });
    json!({"value": [item]})
}

fn plain(kind: &str, id: &str, at: &str) -> Value {
    json!({"type": kind, "id": id, "timestamp": at, "data": {"message": "hello from hooksctl"}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_json_and_takes_the_type_that_was_asked_for() {
        let now = OffsetDateTime::UNIX_EPOCH;
        for preset in [
            None,
            Some("github"),
            Some("stripe"),
            Some("slack"),
            Some("render"),
            Some("adyen"),
            Some("microsoft_graph"),
            Some("linear"),
        ] {
            let usual = sample(preset, None, "id_1", now);
            assert!(serde_json::from_slice::<Value>(&usual.body).is_ok_and(|json| json.is_object()));
            assert!(!usual.event_type.is_empty());
            assert_eq!(sample(preset, Some("x.y"), "id_1", now).event_type, "x.y");
        }
    }
}
