//! `hooksctl migrate`: brings the database to the newest schema; `--check` only looks.

use super::{Failed, Refused, database};
use crate::migrations;
use anyhow::Result;
use hooks_shared::db::SessionOptions;

/// Bring the database to the newest schema. Talks to: the database.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Change nothing; list what is missing and exit with 1 if anything is.
    #[arg(long)]
    check: bool,
}

pub async fn run(args: Args) -> Result<()> {
    // The passwords and the token that this command stores come from the environment.
    hooks_shared::service::production::check().map_err(Refused)?;
    let mut session = database::connect(SessionOptions::unhurried("hooksctl migrate")).await?;
    if args.check {
        let pending = migrations::pending(&mut session).await?;
        if pending.is_empty() {
            println!("the schema is up to date");
            return Ok(());
        }
        for name in &pending {
            println!("missing: {name}");
        }
        return Err(Failed("the schema is not up to date; run `hooksctl migrate`".to_owned()).into());
    }
    let outcome = migrations::migrate(&mut session, &migrations::passwords_of_environment).await?;
    for warning in &outcome.warnings {
        eprintln!("warning: {warning}");
    }
    for name in &outcome.applied {
        println!("applied {name}");
    }
    if migrations::store_bootstrap_token(&session).await? {
        println!("stored the bootstrap token");
    }
    println!("the schema is up to date");
    Ok(())
}
