//! The commands that work on the database itself: how they find it and what they say when they cannot.

use super::{Failed, Unreachable, Usage};
use crate::dev_folder::DevFolder;
use anyhow::Result;
use hooks_shared::Secret;
use hooks_shared::db::{
    Failure, SchemaState, Session, SessionOptions, Target, check_schema, connect as open, describe,
    failure_of,
};

/// The database's URL from `HOOKS_DATABASE_URL`, else the one that `hooksctl dev` runs for this folder.
pub fn url() -> Option<Secret> {
    let set = std::env::var("HOOKS_DATABASE_URL").ok().filter(|url| !url.is_empty()).map(Secret::new);
    set.or_else(|| DevFolder::find()?.database_url())
}

/// The database of [`url`].
pub fn target() -> Result<Target> {
    let url = url().ok_or_else(|| {
        Usage(
            "HOOKS_DATABASE_URL is not set; set it to the database, such as \
             postgres://user:password@localhost:5432/hooks"
                .to_owned(),
        )
    })?;
    Target::parse(&url).map_err(|error| Usage(format!("HOOKS_DATABASE_URL: {error}")).into())
}

pub async fn connect(options: SessionOptions) -> Result<Session> {
    connect_to(&target()?, options).await
}

pub async fn connect_to(target: &Target, options: SessionOptions) -> Result<Session> {
    let place = target.describe();
    open(target, &options).await.map_err(|error| {
        Unreachable(format!("the database at {place} cannot be used: {}", describe(&error))).into()
    })
}

/// An error unless the schema is one that this build works with.
pub async fn expect_schema(session: &Session) -> Result<()> {
    match check_schema(session).await.map_err(failed)? {
        SchemaState::Fits => Ok(()),
        state => Err(Failed(state.complaint().unwrap_or_default()).into()),
    }
}

/// A statement that did not work.
pub fn failed(error: tokio_postgres::Error) -> anyhow::Error {
    match failure_of(&error) {
        Failure::Lost => Unreachable(format!("the database went away: {}", describe(&error))).into(),
        Failure::ReadOnly => Failed(
            "the database takes no writes: it is a standby; point HOOKS_DATABASE_URL at the primary"
                .to_owned(),
        )
        .into(),
        _ => Failed(format!("the database refuses: {}", describe(&error))).into(),
    }
}
