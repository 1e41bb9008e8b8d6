//! The schema and the tokens of a development installation.

use super::console::Console;
use super::secrets::{Passwords, Tokens};
use crate::commands::database::{connect_to, failed};
use crate::migrations;
use crate::store;
use anyhow::Result;
use hooks_shared::Secret;
use hooks_shared::config::SYSTEM_SOURCE;
use hooks_shared::db::{Session, SessionOptions, Target};
use hooks_shared::token::{self, ADMIN_SCOPE, TokenKind};
use uuid::Uuid;

/// Brings the schema up to date. `passwords` are those of a database of our own; another's roles keep theirs.
pub async fn migrate(url: &Secret, passwords: Option<&Passwords>, console: Console) -> Result<()> {
    let mut session = open(url).await?;
    let of_role = |role: &str| match passwords {
        Some(passwords) => Ok(passwords.of(role).cloned()),
        None => migrations::passwords_of_environment(role),
    };
    let outcome = migrations::migrate(&mut session, &of_role).await?;
    for warning in outcome.warnings {
        console.warn(&warning);
    }
    for name in outcome.applied {
        console.say(&format!("migrated the database: {name}"));
    }
    Ok(())
}

/// Stores the folder's tokens, or brings the listener's scopes up to date with the sources.
pub async fn keep_tokens(url: &Secret, tokens: &Tokens, sources: &[String]) -> Result<()> {
    let session = open(url).await?;
    let mut listens: Vec<String> = sources.to_vec();
    listens.push(SYSTEM_SOURCE.to_owned());
    keep(&session, "dev listener", TokenKind::Listener, &listens, &tokens.listener).await?;
    keep(&session, "dev admin", TokenKind::Pat, &[ADMIN_SCOPE.to_owned()], &tokens.admin).await
}

async fn keep(
    session: &Session,
    name: &str,
    kind: TokenKind,
    scopes: &[String],
    token: &Secret,
) -> Result<()> {
    let hash = token::hash(token.expose());
    session
        .run(store::KEEP_TOKEN, &[&Uuid::new_v4(), &name, &kind.as_str(), &scopes, &hash])
        .await
        .map_err(failed)?;
    Ok(())
}

async fn open(url: &Secret) -> Result<Session> {
    connect_to(&Target::parse(url)?, SessionOptions::unhurried("hooksctl dev")).await
}
