//! Secrets that providers hand over in a handshake: read by a person once, and replaced when an operator says so.

use super::super::{Failed, NotFound, Refused, database};
use crate::options::Global;
use crate::output::{line, note, rfc3339};
use crate::store;
use anyhow::Result;
use hooks_shared::captured;
use hooks_shared::db::{Session, SessionOptions};
use hooks_shared::sealed::Place;
use serde_json::json;
use time::OffsetDateTime;

#[derive(Debug, clap::Args)]
pub struct SourceArg {
    /// The source
    source: String,
}

/// Opens the door for another handshake.
pub async fn renew(global: &Global, SourceArg { source }: &SourceArg) -> Result<()> {
    let session = session().await?;
    let until = captured::renew(&session, "hooksctl sources renew-secret", source)
        .await
        .map_err(database::failed)?
        .ok_or_else(|| none_captured(source))?;
    let until = rfc3339(until);
    if global.json {
        return line(&json!({"source": source, "renewable_until": until}).to_string());
    }
    note(&format!(
        "the next handshake of {source} replaces its secret, until {until}; ingest knows within five seconds. \
         Until it comes the present secret stays in force"
    ));
    Ok(())
}

/// Prints the secret, once: some providers want it pasted back.
pub async fn show(global: &Global, SourceArg { source }: &SourceArg) -> Result<()> {
    let keyring = database::keyring()?;
    let session = session().await?;
    let row = session.row(store::CAPTURED_SECRET, &[source]).await.map_err(database::failed)?;
    let row = row.ok_or_else(|| none_captured(source))?;
    if let Some(shown) = row.get::<_, Option<OffsetDateTime>>("shown_at") {
        return Err(shown_before(source, Some(shown)).into());
    }
    let secret = keyring.open(row.get("sealed"), Place::captured(source)).map_err(|error| {
        Failed(format!(
            "the secret of {source} cannot be opened: {error}; ingest's keys must be in HOOKS_SECRET_KEYS"
        ))
    })?;
    // First the audit: what is not written down is not shown.
    let captured_at: OffsetDateTime = row.get("captured_at");
    let told = session.run(store::TELL_SECRET_SHOWN, &[source, &captured_at]).await;
    if told.map_err(database::failed)? == 0 {
        return Err(shown_before(source, None).into());
    }
    let captured = rfc3339(captured_at);
    if global.json {
        let shown = json!({"source": source, "secret": secret.expose(), "captured_at": captured});
        return line(&shown.to_string());
    }
    note(&format!("the secret of {source}, handed over at {captured}; it is shown this once:"));
    line(secret.expose())
}

async fn session() -> Result<Session> {
    let session = database::connect(SessionOptions::service("hooksctl sources")).await?;
    database::expect_schema(&session).await?;
    Ok(session)
}

fn none_captured(source: &str) -> NotFound {
    NotFound(format!(
        "no provider has handed over a secret for `{source}`: where its scheme does that, the first handshake needs \
         no leave; a secret that is configured is changed in hooks.yaml"
    ))
}

fn shown_before(source: &str, at: Option<OffsetDateTime>) -> Refused {
    let when = at.map_or_else(|| "a moment ago".to_owned(), |at| format!("at {}", rfc3339(at)));
    Refused(format!(
        "the secret of {source} was shown {when} (see `hooksctl audit`) and is shown only once; if it is lost, \
         `hooksctl sources renew-secret {source}` lets the provider hand over another"
    ))
}
