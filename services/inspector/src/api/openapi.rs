//! The API's description, made from the table of routes and the types that handlers read and write.

use crate::access::Access;
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::routes::{Described, Route, table};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The document as text; a test compares it with `openapi.json`.
pub fn text() -> String {
    serde_json::to_string_pretty(&build()).unwrap_or_default() + "\n"
}

pub async fn document(_call: Call) -> Result<Answer, Error> {
    Ok(Answer::of(200, "application/json", text()).with("Cache-Control", "max-age=300"))
}

fn build() -> Value {
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    let mut schemas: BTreeMap<String, Value> = BTreeMap::new();
    schemas.insert("Error".into(), error_schema());
    for route in table().iter().filter(|route| !route.is_page()) {
        for described in [route.takes, route.gives].into_iter().flatten() {
            collect(described, &mut schemas);
        }
        paths.entry(route.path).or_default().insert(route.method.as_str().to_lowercase(), operation(route));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "hooks-inspector",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0"},
            "description": "Lists are paged by key: follow `next`. Creating requests take an `Idempotency-Key`. \
                Changes made with a session cookie need `X-Hooks-CSRF`. Unknown query parameters \
                and unknown members of a body are refused.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": crate::auth::SESSION_COOKIE},
            },
        },
    })
}

fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {"error": {
            "type": "object",
            "required": ["code", "message", "request_id"],
            "properties": {
                "code": {"type": "string"}, "message": {"type": "string"}, "request_id": {"type": "string"},
            },
        }},
    })
}

fn collect(described: Described, schemas: &mut BTreeMap<String, Value>) {
    let mut all = vec![((described.name)(), (described.schema)())];
    (described.others)(&mut all);
    for (name, schema) in all {
        schemas.insert(name, serde_json::to_value(schema).unwrap_or_default());
    }
}

fn refer(described: Described) -> Value {
    json!({"$ref": format!("#/components/schemas/{}", (described.name)())})
}

fn operation(route: &Route) -> Value {
    let mut operation = Map::new();
    operation.insert("summary".into(), json!(route.summary));
    operation.insert("operationId".into(), json!(operation_id(route)));
    operation.insert("tags".into(), json!([route.path.split('/').nth(2).unwrap_or_default()]));
    let parameters = parameters(route);
    if !parameters.is_empty() {
        operation.insert("parameters".into(), Value::Array(parameters));
    }
    if let Some(takes) = route.takes {
        let content = json!({"application/json": {"schema": refer(takes)}});
        operation.insert("requestBody".into(), json!({"required": false, "content": content}));
    }
    operation.insert("responses".into(), responses(route));
    operation.insert("security".into(), security(route.access));
    Value::Object(operation)
}

fn operation_id(route: &Route) -> String {
    let words = route.path.trim_start_matches("/api/").replace(['{', '}'], "").replace(['/', '-', '.'], "_");
    format!("{}_{words}", route.method.as_str().to_lowercase())
}

fn parameters(route: &Route) -> Vec<Value> {
    let in_path = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = in_path.map(|name| {
        let schema = if name == "sequence" {
            json!({"type": "integer", "minimum": 1})
        } else {
            json!({"type": "string"})
        };
        json!({"name": name, "in": "path", "required": true, "schema": schema})
    });
    let in_query = route.query.iter().map(|(name, about)| {
        let schema = query_schema(name);
        json!({"name": name, "in": "query", "required": false, "description": about, "schema": schema})
    });
    in_path.chain(in_query).collect()
}

/// What a parameter of a query may be. The same name means the same on every route, and an empty value is as good as none:
/// a form sends every field.
fn query_schema(name: &str) -> Value {
    let words: &[&str] = match name {
        "limit" => {
            return json!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 500}, {"const": ""}]});
        }
        "from" | "to" | "since" | "until" => {
            return json!({"anyOf": [{"type": "string", "format": "date-time"}, {"const": ""}]});
        }
        "state" => &super::deliveries::STATES,
        "push" => &super::events::PUSH,
        "outcome" => &["done", "refused"],
        "format" => &["csv", "jsonl"],
        "span" => &["hour", "day"],
        "kind" => &["pat", "listener"],
        "role" => &["admin", "member"],
        _ => return json!({"type": "string"}),
    };
    let all: Vec<&str> = words.iter().copied().chain([""]).collect();
    json!({"type": "string", "enum": all})
}

fn responses(route: &Route) -> Value {
    let mut responses = Map::new();
    let mut done = Map::new();
    done.insert("description".into(), json!("Done"));
    match route.gives {
        Some(gives) => {
            done.insert("content".into(), json!({"application/json": {"schema": refer(gives)}}));
        }
        None if route.media.is_empty() => {}
        None => {
            let content: Map<_, _> = route.media.iter().map(|media| (media.to_string(), json!({}))).collect();
            done.insert("content".into(), Value::Object(content));
        }
    }
    if let Some(also) = route.also {
        responses.insert(also.to_string(), Value::Object(done.clone()));
    }
    responses.insert(route.status.to_string(), Value::Object(done));
    let refused = json!({
        "description": "Refused; `error.code` says why",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    });
    responses.insert("default".into(), refused);
    Value::Object(responses)
}

fn security(access: Access) -> Value {
    match access {
        Access::Public => json!([]),
        Access::Browser => json!([{"session": []}]),
        Access::Person | Access::Reader | Access::Admin => json!([{"token": []}, {"session": []}]),
    }
}
