//! The transaction of an operator's action.

use super::error::OperatorError;
use super::statements::{LOCK_CURSOR, WRITE_AUDIT};
use crate::db::Session;
use serde_json::Value;

/// An open transaction. Dropped without an end, it breaks the session, which rolls it back.
pub(super) struct Work<'a> {
    pub session: &'a Session,
    ended: bool,
}

impl<'a> Work<'a> {
    pub async fn begin(session: &'a Session) -> Result<Self, OperatorError> {
        // From here on: a future dropped in BEGIN may have begun all the same.
        let work = Self { session, ended: false };
        session.batch_execute("begin").await?;
        Ok(work)
    }

    /// Locks a subscription's cursor row, waiting for a claim that holds it; its state and source.
    pub async fn lock(&self, subscription: &str) -> Result<(String, String), OperatorError> {
        let row = self.session.row(LOCK_CURSOR, &[&subscription]).await?;
        let row = row.ok_or_else(|| OperatorError::NoSubscription(subscription.to_owned()))?;
        Ok((row.get("state"), row.get("source")))
    }

    pub async fn audit(
        &self,
        actor: &str,
        action: &str,
        subject: &str,
        affected: i64,
        details: Option<Value>,
    ) -> Result<(), OperatorError> {
        self.session.run(WRITE_AUDIT, &[&actor, &action, &subject, &affected, &details]).await?;
        Ok(())
    }

    pub async fn commit(mut self) -> Result<(), OperatorError> {
        self.session.batch_execute("commit").await?;
        self.ended = true;
        Ok(())
    }

    /// Ends without a trace, and passes the reason on.
    pub async fn refuse<T>(mut self, error: OperatorError) -> Result<T, OperatorError> {
        if self.session.batch_execute("rollback").await.is_ok() {
            self.ended = true;
        }
        Err(error)
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.session.mark_broken();
        }
    }
}
