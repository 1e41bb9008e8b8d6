//! One transaction, sent in one burst: begin, lock the heads, append, commit, without waiting in between, so
//! that nothing slow happens while the heads are locked.

use super::Job;
use super::batch::Columns;
use crate::store;
use futures_util::join;
use hooks_shared::db::Session;
use tokio_postgres::{Error, Row};

/// What the log says about one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    pub sequence: i64,
    pub is_new: bool,
}

/// Runs the burst. One entry per job, in order; None where append returned no row, which is never an
/// acknowledgement. Any statement that failed is an error: COMMIT's own Ok proves nothing, because the COMMIT
/// of a failed transaction is answered as a rollback that succeeded.
pub async fn burst(session: &Session, jobs: &[Job]) -> Result<Vec<Option<Stored>>, Error> {
    let lock = session.statement(store::LOCK_HEADS).await?;
    let append = session.statement(store::APPEND).await?;
    let columns = Columns::of(jobs);
    let heads: &[&(dyn tokio_postgres::types::ToSql + Sync)] = &[&columns.sources];
    let parameters = columns.parameters();
    // Each future sends its message when it is first polled, and join polls them in this order.
    let (begun, locked, appended, committed) = join!(
        session.batch_execute("begin"),
        session.query(&lock, heads),
        session.query(&append, &parameters),
        session.batch_execute("commit"),
    );
    begun?;
    locked?;
    let rows = appended?;
    committed?;
    assign(&rows, jobs.len())
}

fn assign(rows: &[Row], jobs: usize) -> Result<Vec<Option<Stored>>, Error> {
    let mut stored = vec![None; jobs];
    for row in rows {
        let place: i64 = row.try_get("place")?;
        let entry = Stored { sequence: row.try_get("sequence")?, is_new: row.try_get("is_new")? };
        if let Some(slot) = usize::try_from(place - 1).ok().and_then(|index| stored.get_mut(index)) {
            *slot = Some(entry);
        }
    }
    Ok(stored)
}
