//! `hooksctl admin`: what needs the database because there is nobody to ask yet.

use super::{Refused, database, lifetime};
use crate::options::Global;
use crate::output::{line, note, rfc3339};
use crate::store;
use anyhow::Result;
use hooks_shared::db::SessionOptions;
use hooks_shared::invite;
use serde_json::json;
use std::time::Duration;
use time::OffsetDateTime;
use uuid::Uuid;

/// The first administrator
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Init(InitArgs),
}

/// Make an invite for the first administrator and print its link, once. Talks to: the database.
///
/// The link leads to the inspector (HOOKS_INSPECTOR or --inspector), where the account is made. Once there are
/// people, administrators invite with `hooksctl invite create`; --even-so is for when none of them can.
#[derive(Debug, clap::Args)]
pub struct InitArgs {
    /// For how long the link is good
    #[arg(long, visible_alias = "ttl", value_parser = lifetime::of_invite, default_value = "24h", value_name = "DURATION")]
    expires_in: Duration,
    /// Also where there are people
    #[arg(long)]
    even_so: bool,
}

pub async fn run(global: &Global, command: Command) -> Result<()> {
    match command {
        Command::Init(args) => init(global, args).await,
    }
}

async fn init(global: &Global, args: InitArgs) -> Result<()> {
    let inspector = global.inspector()?;
    let session = database::connect(SessionOptions::service("hooksctl admin")).await?;
    database::expect_schema(&session).await?;
    let (id, code) = (Uuid::new_v4(), invite::mint());
    let hash = invite::hash(code.expose());
    let seconds = args.expires_in.as_secs_f64();
    let row = session
        .row(store::CREATE_ADMIN_INVITE, &[&id, &hash, &seconds, &args.even_so])
        .await
        .map_err(database::failed)?
        .ok_or_else(|| {
            Refused(
                "there are people already: an administrator invites with `hooksctl invite create --role admin`; \
                 if none can, add --even-so"
                    .to_owned(),
            )
        })?;
    let until = rfc3339(row.get::<_, OffsetDateTime>("expires_at"));
    let mut link = inspector.url(&["signup"]);
    link.query_pairs_mut().append_pair("code", code.expose());
    if global.json {
        let made = json!({"id": id, "code": code.expose(), "url": link.as_str(), "role": "admin", "expires_at": until});
        return line(&made.to_string());
    }
    note(&format!("invite {id} for an administrator, good until {until}; open this link, shown this once:"));
    line(link.as_str())
}
