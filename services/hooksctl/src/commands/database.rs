//! The commands that work on the database itself: how they find it and what they say when they cannot.

use super::{Failed, Unreachable, Usage};
use crate::dev_folder::DevFolder;
use anyhow::Result;
use hooks_shared::Secret;
use hooks_shared::db::{
    Failure, SchemaState, Session, SessionOptions, Target, check_schema, connect as open, describe,
    failure_of,
};
use hooks_shared::sealed::{KEYS_FILE_VARIABLE, KEYS_VARIABLE, Keyring};

/// The database's URL from `HOOKS_DATABASE_URL`, else the one that `hooksctl dev` runs for this folder.
pub fn url() -> Option<Secret> {
    let set = std::env::var("HOOKS_DATABASE_URL").ok().filter(|url| !url.is_empty()).map(Secret::new);
    set.or_else(|| DevFolder::find()?.database_url())
}

/// The keys under which secrets are kept in that database: those of the environment, else those of `hooksctl dev`
/// where it is the one that runs the database.
pub fn keyring() -> Result<Keyring> {
    let set = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let own =
        [KEYS_VARIABLE, KEYS_FILE_VARIABLE, "HOOKS_DATABASE_URL"].iter().any(|name| set(name).is_some());
    let of_dev = if own { None } else { DevFolder::find().and_then(|folder| folder.secret_keys_file()) };
    let env = |name: &str| match &of_dev {
        Some(path) if name == KEYS_FILE_VARIABLE => Some(path.display().to_string()),
        _ => set(name),
    };
    Keyring::required(&env).map_err(|message| Usage(message).into())
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
