//! The audit: filtered, paged, exported.

use super::paging;
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::moment::Moment;
use crate::state::State;
use crate::store;
use crate::store::audit::{Ask, AuditRow};
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

type Parameter = (&'static str, &'static str);
const ACTOR: Parameter = ("actor", "An address, `token NAME`, or the id of a user, token or session");
const ACTION: Parameter = ("action", "An action, or a beginning with a dot, such as `token.`");
const TARGET: Parameter = ("target", "`<type>:<id>`");
const OUTCOME: Parameter = ("outcome", "`done` or `refused`");
const SINCE: Parameter = ("since", "RFC 3339");
const UNTIL: Parameter = ("until", "RFC 3339");
const LIMIT: Parameter = ("limit", "Rows a page, 1 to 500; usually 100");
const CURSOR: Parameter = ("cursor", "Where the page begins; taken from a `next` link");
pub const QUERY: &[Parameter] = &[ACTOR, ACTION, TARGET, OUTCOME, SINCE, UNTIL, LIMIT, CURSOR];
const FORMAT: Parameter = ("format", "`csv` (usual) or `jsonl`");
pub const EXPORT_QUERY: &[Parameter] = &[ACTOR, ACTION, TARGET, OUTCOME, SINCE, UNTIL, FORMAT];

/// Rows read at once for an export.
const BATCH: i64 = 500;

#[derive(Debug, Serialize, ToSchema)]
pub struct AuditEvent {
    pub id: String,
    pub at: Moment,
    /// In words: an address, or `token NAME`.
    pub actor: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_user_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_token_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_session_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    pub action: String,
    pub outcome: String,
    pub target_type: String,
    pub target_id: String,
    /// How many things it changed.
    pub affected: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// `<type>:<id>`; ids of subscriptions and deliveries also stand alone.
fn target(subject: &str) -> (String, String) {
    let (kind, id) = match subject.split_once(':') {
        Some((kind, id)) => (kind, id),
        None if subject.starts_with("sub_") => ("push_subscription", subject),
        None if subject.starts_with("dlv_") => ("delivery", subject),
        None => ("", subject),
    };
    (kind.to_owned(), id.to_owned())
}

impl From<AuditRow> for AuditEvent {
    fn from(row: AuditRow) -> Self {
        let (target_type, target_id) = target(&row.subject);
        Self {
            id: row.id.to_string(),
            at: Moment(row.at),
            actor: row.actor,
            actor_user_id: row.person_id,
            actor_token_id: row.token_id,
            actor_session_id: row.session_id,
            address: row.address.map(|address| address.to_string()),
            request_id: row.request_id,
            action: row.action,
            outcome: row.outcome,
            target_type,
            target_id,
            affected: row.affected,
            metadata: row.details,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct AuditList {
    events: Vec<AuditEvent>,
    /// May lead to an empty page: a request looks at a bounded stretch of the audit.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// The filter of a query.
pub fn ask(call: &Call, limit: i64) -> Result<Ask, Error> {
    let actor = call.query.text("actor")?;
    let actor_id: Option<Uuid> = actor.as_deref().and_then(|text| text.parse().ok());
    let outcome = call.query.get("outcome").map(str::to_owned);
    if outcome.as_deref().is_some_and(|text| !matches!(text, "done" | "refused")) {
        return Err(Error::invalid("outcome: must be done or refused"));
    }
    Ok(Ask {
        actor: actor.filter(|_| actor_id.is_none()),
        actor_id,
        action: call.query.text("action")?,
        subject: call.query.text("target")?,
        outcome,
        since: call.query.moment("since")?,
        until: call.query.moment("until")?,
        before: None,
        limit,
    })
}

pub async fn list(call: Call) -> Result<Answer, Error> {
    let limit = paging::limit(&call)?;
    let ask = Ask { before: paging::cursor(&call)?, ..ask(&call, limit)? };
    let page = store::audit::page(&*call.session().await?, &ask).await?;
    let next = page.next.map(|id| paging::link(&call, &id));
    Ok(Answer::json(200, &AuditList { events: page.rows.into_iter().map(AuditEvent::from).collect(), next }))
}

/// Streams all that the filter names, newest first, a batch at a time.
pub async fn export(call: Call) -> Result<Answer, Error> {
    let (media, extension, row): (_, _, fn(&AuditEvent) -> String) = match call.query.get("format") {
        None | Some("csv") => ("text/csv; charset=utf-8", "csv", csv_line),
        Some("jsonl") => ("application/jsonl", "jsonl", json_line),
        Some(_) => return Err(Error::invalid("format: must be csv or jsonl")),
    };
    let head = if extension == "csv" { CSV_HEAD } else { "" };
    let first = batch(&call.state, ask(&call, BATCH)?).await?;
    let begin = Export { state: call.state.clone(), ready: Some(first), row, head };
    let chunks = stream::try_unfold(begin, Export::step);
    let name = format!("attachment; filename=\"audit.{extension}\"");
    Ok(Answer::stream(media, chunks).with("Content-Disposition", name))
}

struct Export {
    state: State,
    /// A batch that is read, and the question for the one behind it.
    ready: Option<(Vec<AuditRow>, Option<Ask>)>,
    row: fn(&AuditEvent) -> String,
    head: &'static str,
}

async fn batch(state: &State, ask: Ask) -> Result<(Vec<AuditRow>, Option<Ask>), Error> {
    let (owned, asked) = (state.clone(), ask.clone());
    let read = state.runtime.spawn(async move {
        let db = owned.session().await?;
        store::audit::page(&db, &asked).await
    });
    let page = read.await.map_err(|_| Error::Internal)??;
    Ok((page.rows, page.next.map(|id| Ask { before: Some(id), ..ask })))
}

impl Export {
    async fn step(mut self) -> Result<Option<(Bytes, Self)>, std::io::Error> {
        let Some((rows, more)) = self.ready.take() else { return Ok(None) };
        let mut text = std::mem::take(&mut self.head).to_owned();
        for row in rows {
            text.push_str(&(self.row)(&AuditEvent::from(row)));
        }
        if let Some(ask) = more {
            let read = batch(&self.state, ask).await;
            // The connection is cut, so that half a file is not taken for a whole one.
            self.ready = Some(read.map_err(|error| std::io::Error::other(error.to_string()))?);
        }
        Ok(Some((Bytes::from(text), self)))
    }
}

fn json_line(event: &AuditEvent) -> String {
    let mut line = serde_json::to_string(event).unwrap_or_default();
    line.push('\n');
    line
}

const CSV_HEAD: &str = "id,at,actor,actor_user_id,actor_token_id,actor_session_id,address,request_id,action,outcome,\
    target_type,target_id,affected,metadata\r\n";

fn csv_line(event: &AuditEvent) -> String {
    let id = |id: &Option<Uuid>| id.map(|id| id.to_string()).unwrap_or_default();
    let metadata = event.metadata.as_ref().map(Value::to_string).unwrap_or_default();
    let fields = [
        event.id.clone(),
        event.at.to_string(),
        event.actor.clone(),
        id(&event.actor_user_id),
        id(&event.actor_token_id),
        id(&event.actor_session_id),
        event.address.clone().unwrap_or_default(),
        event.request_id.clone().unwrap_or_default(),
        event.action.clone(),
        event.outcome.clone(),
        event.target_type.clone(),
        event.target_id.clone(),
        event.affected.to_string(),
        metadata,
    ];
    fields.iter().map(|field| csv_field(field)).collect::<Vec<_>>().join(",") + "\r\n"
}

/// Quoted where RFC 4180 asks for it. A field that a spreadsheet would take for a formula gets an apostrophe.
fn csv_field(text: &str) -> String {
    let guarded = match text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    };
    match guarded.contains([',', '"', '\r', '\n']) {
        true => format!("\"{}\"", guarded.replace('"', "\"\"")),
        false => guarded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_are_no_formulas() {
        assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(csv_field("=cmd()"), "'=cmd()");
        assert_eq!(csv_field("plain"), "plain");
    }

    #[test]
    fn targets_are_told_apart() {
        assert_eq!(target("token:1"), ("token".into(), "1".into()));
        assert_eq!(target("sub_1"), ("push_subscription".into(), "sub_1".into()));
    }
}
