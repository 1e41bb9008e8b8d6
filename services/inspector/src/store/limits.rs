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
    Ok(Some(wait(db, key, burst, seconds).await?.unwrap_or(seconds)))
}

/// Whether there is one to take. Only reads: for what a stranger can ask as often as they like.
pub async fn has_one(db: &Session, key: &str, burst: u32, seconds: u32) -> Result<bool> {
    let wait = wait(db, key, f64::from(burst), f64::from(seconds)).await?;
    Ok(wait.is_none_or(|wait| wait <= 0.0))
}

async fn wait(db: &Session, key: &str, burst: f64, seconds: f64) -> Result<Option<f64>> {
    let row = db.row(WAIT, &[&key, &burst, &seconds]).await?;
    Ok(row.map(|row| row.try_get("wait")).transpose()?)
}

pub async fn give_back(db: &Session, key: &str, seconds: u32) -> Result<()> {
    db.run(GIVE_BACK, &[&key, &f64::from(seconds)]).await?;
    Ok(())
}
