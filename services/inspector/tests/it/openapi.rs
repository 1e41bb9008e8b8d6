//! The API's description.

use crate::desk::{As, Desk};
use serde_json::Value;

#[test]
fn the_checked_in_description_is_current() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
    let built = hooks_inspector::api::openapi::text();
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(file, &built).expect("write openapi.json");
    }
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    assert!(kept == built, "services/inspector/openapi.json is old: run this test with UPDATE_OPENAPI=1");
}

/// Every reference leads somewhere, every operation has a name of its own.
#[test]
fn the_description_is_whole() {
    let document: Value = serde_json::from_str(&hooks_inspector::api::openapi::text()).expect("JSON");
    let mut names = Vec::new();
    let mut references = Vec::new();
    collect(&document, &mut names, &mut references);
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "operation ids are unique");
    for reference in references {
        let name = reference.strip_prefix("#/components/schemas/").expect("a schema");
        assert!(document["components"]["schemas"].get(name).is_some(), "{reference} leads nowhere");
    }
    assert!(count > 50, "{count} operations");
}

fn collect(value: &Value, names: &mut Vec<String>, references: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            names.extend(map.get("operationId").and_then(Value::as_str).map(str::to_owned));
            references.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
            map.values().for_each(|inner| collect(inner, names, references));
        }
        Value::Array(items) => items.iter().for_each(|inner| collect(inner, names, references)),
        _ => {}
    }
}

#[tokio::test]
async fn it_is_served() {
    let desk = Desk::open().await;
    let answer = desk.get(As::Nobody, "/api/openapi.json").await;
    assert_eq!((answer.status, &answer.json()["openapi"]), (200, &Value::from("3.1.0")));
}
