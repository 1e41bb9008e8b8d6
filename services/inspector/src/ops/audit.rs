//! Writing the audit: in the same transaction as what it tells of, where there is one.

use crate::error::Error;
use crate::store::{self, audit::NewRow};
use crate::who::{Origin, Who};
use hooks_shared::db::Session;
use serde_json::Value;

/// Something to be told. Details hold names and numbers, never a secret.
#[derive(Debug)]
pub struct Entry {
    action: &'static str,
    subject: String,
    outcome: &'static str,
    affected: i64,
    details: Option<Value>,
}

impl Entry {
    /// `subject` is `<kind>:<id>`.
    pub fn new(action: &'static str, subject: impl Into<String>) -> Self {
        Self { action, subject: subject.into(), outcome: "done", affected: 1, details: None }
    }

    /// It was not done.
    pub fn refused(mut self) -> Self {
        (self.outcome, self.affected) = ("refused", 0);
        self
    }

    pub fn affected(mut self, count: i64) -> Self {
        self.affected = count;
        self
    }

    pub fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}

pub async fn record(db: &Session, who: &Who, origin: &Origin, entry: Entry) -> Result<(), Error> {
    let row = NewRow {
        actor: &who.label(),
        person_id: who.person_id(),
        token_id: who.token.as_ref().map(|token| token.id),
        session_id: who.browser.as_ref().map(|browser| browser.session_id),
        address: origin.address,
        request_id: &origin.request_id,
        action: entry.action,
        subject: &entry.subject,
        outcome: entry.outcome,
        affected: entry.affected,
        details: entry.details.as_ref(),
    };
    Ok(store::audit::add(db, &row).await?)
}
