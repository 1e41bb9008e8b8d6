//! The statements of the commands that work on the database. Each is prepared on the migrated database by a
//! test.

use hooks_shared::db::Sql;
use hooks_shared::sql;

pub const CREATE_ADMIN_INVITE: Sql = sql!("create_admin_invite.sql");
pub const CREATE_TOKEN: Sql = sql!("create_token.sql");
pub const LIST_TOKENS: Sql = sql!("list_tokens.sql");
pub const REVOKE_TOKEN: Sql = sql!("revoke_token.sql");
pub const KEEP_TOKEN: Sql = sql!("keep_token.sql");
pub const LIST_SOURCES: Sql = sql!("list_sources.sql");
pub const DAYS: Sql = sql!("days.sql");
pub const HASHES: Sql = sql!("hashes.sql");
pub const SERVER: Sql = sql!("server.sql");
pub const TIMELINE: Sql = sql!("timeline.sql");
pub const RAISE_HEADS: Sql = sql!("raise_heads.sql");
pub const INSTANCES: Sql = sql!("instances.sql");
pub const CAPTURED_SECRET: Sql = sql!("captured_secret.sql");
pub const TELL_SECRET_SHOWN: Sql = sql!("tell_secret_shown.sql");
pub const CAPTURED_SECRETS: Sql = sql!("captured_secrets.sql");
pub const RESEAL_CAPTURED: Sql = sql!("reseal_captured.sql");

/// All of them.
#[cfg(test)]
pub const STATEMENTS: &[Sql] = &[
    CREATE_ADMIN_INVITE,
    CREATE_TOKEN,
    LIST_TOKENS,
    REVOKE_TOKEN,
    KEEP_TOKEN,
    LIST_SOURCES,
    DAYS,
    HASHES,
    SERVER,
    TIMELINE,
    RAISE_HEADS,
    INSTANCES,
    CAPTURED_SECRET,
    TELL_SECRET_SHOWN,
    CAPTURED_SECRETS,
    RESEAL_CAPTURED,
];

#[cfg(test)]
mod tests {
    use super::STATEMENTS;
    use hooks_testkit::db::TestDb;

    #[tokio::test]
    async fn every_statement_fits_the_migrated_schema() {
        let db = TestDb::create().await;
        let client = db.client().await;
        for sql in STATEMENTS.iter().chain(hooks_shared::captured::STATEMENTS) {
            client.prepare(sql.text).await.unwrap_or_else(|error| panic!("{}: {error:?}", sql.name));
        }
    }
}
