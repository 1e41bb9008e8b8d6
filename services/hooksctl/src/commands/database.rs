//! The commands that work on the database itself: how they find it and what they say when they cannot.

use super::Unreachable;
use anyhow::{Context, Result};
use hooks_shared::Secret;
use hooks_shared::db::{Session, SessionOptions, Target, connect as open, describe};

/// The database named by `HOOKS_DATABASE_URL`.
pub fn target() -> Result<Target> {
    let url = std::env::var("HOOKS_DATABASE_URL").ok().filter(|url| !url.is_empty());
    let url = url.context(
        "HOOKS_DATABASE_URL is not set; set it to the database, such as postgres://user:password@localhost:5432/hooks",
    )?;
    Target::parse(&Secret::new(url)).context("HOOKS_DATABASE_URL")
}

pub async fn connect(options: SessionOptions) -> Result<Session> {
    let target = target()?;
    let place = target.describe();
    open(&target, &options).await.map_err(|error| {
        Unreachable(format!("the database at {place} does not answer: {}", describe(&error))).into()
    })
}
