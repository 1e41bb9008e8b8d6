//! Token buckets, each kept as the moment at which it is full again.

use super::Result;
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;

const TAKE: Sql = sql!("limits_take.sql");
const WAIT: Sql = sql!("limits_wait.sql");
const GIVE_BACK: Sql = sql!("limits_give_back.sql");
pub(super) const STATEMENTS: &[Sql] = &[TAKE, WAIT, GIVE_BACK];

/// Takes one; or how many seconds to wait for it.
pub async fn take(db: &Session, key: &str, burst: u32, seconds: u32) -> Result<Option<f64>> {
    let (burst, seconds) = (f64::from(burst), f64::from(seconds));
    if db.row(TAKE, &[&key, &burst, &seconds]).await?.is_some() {
        return Ok(None);
    }
    let row = db.row(WAIT, &[&key, &burst, &seconds]).await?;
    Ok(Some(match row {
        Some(row) => row.try_get("wait")?,
        None => seconds,
    }))
}

pub async fn give_back(db: &Session, key: &str, seconds: u32) -> Result<()> {
    db.run(GIVE_BACK, &[&key, &f64::from(seconds)]).await?;
    Ok(())
}
