//! Whether an event really has what is searched for.

use super::query::{Condition, Place, Search};
use super::terms::{scalar, walk};
use hooks_shared::event::Header;
use serde_json::Value;

/// Compares every condition. `known` are the event's ids and type.
pub fn matches(search: &Search, known: &[&str], headers: &[Header], body: &[u8]) -> bool {
    let json = std::cell::LazyCell::new(|| serde_json::from_slice::<Value>(body).ok());
    search.0.iter().all(|condition| match &condition.place {
        Place::Known => known.iter().any(|value| Some(*value) == condition.value.as_deref()),
        Place::Header(name) => has_header(headers, name, condition.value.as_deref()),
        Place::Body(path) => json.as_ref().is_some_and(|json| has_path(json, path, condition)),
    })
}

fn has_header(headers: &[Header], name: &str, value: Option<&str>) -> bool {
    let same = headers.iter().filter(|(given, _)| given.eq_ignore_ascii_case(name.as_bytes()));
    let mut values = same.map(|(_, given)| given.as_slice());
    values.any(|given| value.is_none_or(|value| given == value.as_bytes()))
}

fn has_path(json: &Value, path: &str, condition: &Condition) -> bool {
    let mut found = false;
    walk(json, &mut |at, value| {
        found |= at == path
            && match &condition.value {
                None => true,
                Some(wanted) => scalar(value).as_ref() == Some(wanted),
            };
        !found
    });
    found
}

#[cfg(test)]
mod tests {
    use super::super::{of_condition, of_event};
    use super::*;

    #[test]
    fn what_is_found_is_what_matches() {
        let headers: Vec<Header> =
            vec![(b"X-Event".to_vec(), b"push".to_vec()), (b"X-Raw".to_vec(), vec![0xff])];
        let body = br#"{"data":{"id":"evt-1","n":5,"ok":true,"none":null,"items":[{"id":"a"},{"id":"b"}]}}"#;
        let known = ["evt_1", "deploy"];
        let terms = of_event(&known, &headers, body);
        for (query, expected) in [
            ("data.id = evt-1", true),
            ("data.id = evt-2", false),
            ("data.n = 5", true),
            ("data.ok = true and data.none = null", true),
            ("data.items[1].id = b", true),
            ("data.items[].id = c", false),
            ("header.x-event = push", true),
            ("header.x-event = Push", false),
            ("header.x-raw?", true),
            ("data.items?", true),
            ("data.nothing?", false),
            ("deploy", true),
            ("evt_1 and data.id = evt-1", true),
        ] {
            let search = Search::parse(query).expect(query);
            assert_eq!(matches(&search, &known, &headers, body), expected, "{query}");
            let by_index = search.0.iter().all(|condition| terms.contains(&of_condition(condition)));
            assert_eq!(by_index, expected, "the index about {query}");
        }
    }

    #[test]
    fn a_hostile_body_is_bounded() {
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        assert!(of_event(&[], &[], deep.as_bytes()).len() <= super::super::MOST_TERMS);
        let wide: Vec<u32> = (0..100_000).collect();
        let wide = serde_json::to_vec(&serde_json::json!({ "a": wide })).expect("JSON");
        assert!(of_event(&[], &[], &wide).len() <= super::super::MOST_TERMS);
        assert!(of_event(&[], &[], b"\xff{").is_empty());
    }
}
