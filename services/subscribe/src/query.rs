//! The parameters of the list route, and the link to the next page.

use std::fmt::Write as _;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Events a page has when nothing is said, and at most.
const USUAL_LIMIT: i64 = 50;
const LARGEST_LIMIT: i64 = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    NewestFirst,
    OldestFirst,
}

/// What a client wants listed. Sequences are exclusive bounds, times half-open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    pub after: Option<i64>,
    pub before: Option<i64>,
    pub from: Option<OffsetDateTime>,
    pub to: Option<OffsetDateTime>,
    pub delivery_id: Option<String>,
    pub event_type: Option<String>,
    pub limit: i64,
    pub order: Order,
}

/// A parameter that cannot be read. Shown to the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {reason}")]
pub struct QueryError {
    name: String,
    reason: &'static str,
}

impl ListQuery {
    /// Reads the decoded pairs of a query string. An unknown name is refused: a misspelt filter would list
    /// everything.
    pub fn parse(pairs: &[(String, String)]) -> Result<Self, QueryError> {
        let mut query = Self {
            after: None,
            before: None,
            from: None,
            to: None,
            delivery_id: None,
            event_type: None,
            limit: USUAL_LIMIT,
            order: Order::NewestFirst,
        };
        for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
            query.take(name, value).map_err(|reason| QueryError {
                name: name.chars().filter(|c| !c.is_control()).take(40).collect(),
                reason,
            })?;
        }
        Ok(query)
    }

    fn take(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        match name {
            "after" => self.after = Some(sequence(value)?),
            "before" => self.before = Some(sequence(value)?),
            "from" => self.from = Some(moment(value)?),
            "to" => self.to = Some(moment(value)?),
            "delivery_id" => self.delivery_id = Some(text(value)?),
            "type" => self.event_type = Some(text(value)?),
            "limit" => self.limit = limit(value)?,
            "order" => self.order = order(value)?,
            _ => return Err("is not a parameter of this route"),
        }
        Ok(())
    }

    /// The path of the page that goes on behind `sequence`.
    pub fn next(&self, source: &str, sequence: i64) -> String {
        let mut link = format!("/subscribe/{source}/events?limit={}", self.limit);
        let (after, before) = match self.order {
            Order::NewestFirst => (self.after, Some(sequence)),
            Order::OldestFirst => (Some(sequence), self.before),
        };
        if self.order == Order::OldestFirst {
            link.push_str("&order=asc");
        }
        for (name, bound) in [("after", after), ("before", before)] {
            if let Some(bound) = bound {
                let _ = write!(link, "&{name}={bound}");
            }
        }
        for (name, bound) in [("from", self.from), ("to", self.to)] {
            if let Some(Ok(bound)) = bound.map(|bound| bound.format(&Rfc3339)) {
                let _ = write!(link, "&{name}={}", escape(&bound));
            }
        }
        for (name, text) in [("delivery_id", &self.delivery_id), ("type", &self.event_type)] {
            if let Some(text) = text {
                let _ = write!(link, "&{name}={}", escape(text));
            }
        }
        link
    }
}

fn sequence(value: &str) -> Result<i64, &'static str> {
    value.parse().ok().filter(|n| *n >= 0).ok_or("is not a sequence number")
}

fn moment(value: &str) -> Result<OffsetDateTime, &'static str> {
    let at = OffsetDateTime::parse(value, &Rfc3339)
        .map_err(|_| "is not a time: write one such as 2026-05-09T14:00:00Z")?
        .to_offset(time::UtcOffset::UTC);
    if (1970..=9999).contains(&at.year()) { Ok(at) } else { Err("lies outside the years 1970 to 9999") }
}

fn text(value: &str) -> Result<String, &'static str> {
    if value.contains('\0') { Err("holds a character that no event has") } else { Ok(value.to_owned()) }
}

fn limit(value: &str) -> Result<i64, &'static str> {
    value.parse().ok().filter(|n| (1..=LARGEST_LIMIT).contains(n)).ok_or("is not a number from 1 to 500")
}

fn order(value: &str) -> Result<Order, &'static str> {
    match value {
        "asc" => Ok(Order::OldestFirst),
        "desc" => Ok(Order::NewestFirst),
        _ => Err("is neither `asc` nor `desc`"),
    }
}

/// Percent-encodes everything but what RFC 3986 calls unreserved.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte as char);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<ListQuery, String> {
        let pairs: Vec<_> = pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        ListQuery::parse(&pairs).map_err(|error| error.to_string())
    }

    #[test]
    fn a_link_leads_to_the_same_list_further_on() {
        let query =
            parse(&[("order", "asc"), ("type", "a b&c"), ("limit", "3"), ("before", "90")]).expect("ok");
        assert_eq!(
            query.next("render", 7),
            "/subscribe/render/events?limit=3&order=asc&after=7&before=90&type=a%20b%26c"
        );
        let query = parse(&[("from", "2026-05-09T14:00:00+02:00"), ("after", "5")]).expect("ok");
        assert_eq!(
            query.next("render", 7),
            "/subscribe/render/events?limit=50&after=5&before=7&from=2026-05-09T12%3A00%3A00Z"
        );
    }

    #[test]
    fn faults_name_the_parameter() {
        assert_eq!(parse(&[("limit", "0")]), Err("limit: is not a number from 1 to 500".to_owned()));
        assert_eq!(
            parse(&[("delivery-id", "x")]),
            Err("delivery-id: is not a parameter of this route".to_owned())
        );
        assert!(parse(&[("after", "-1")]).is_err() && parse(&[("to", "yesterday")]).is_err());
        assert_eq!(parse(&[("after", "")]).map(|q| q.after), Ok(None));
    }
}
