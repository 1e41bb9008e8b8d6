//! The migrations, embedded in the binary, and the roles they give rights to.

use anyhow::{Context, Result, bail};
use hooks_shared::Secret;
use hooks_shared::db::{Session, describe};
use refinery::{Migration, Runner};

/// Every file of `migrations/NNNN_….sql`, in order. A test compares this list with the folder.
pub const MIGRATIONS: &[(&str, &str)] = &[
    ("0001_create_log", include_str!("../../../migrations/0001_create_log.sql")),
    ("0002_create_push", include_str!("../../../migrations/0002_create_push.sql")),
    ("0003_create_people", include_str!("../../../migrations/0003_create_people.sql")),
    ("0004_keep_rejected", include_str!("../../../migrations/0004_keep_rejected.sql")),
];
const GRANTS: &str = include_str!("../../../migrations/grants.sql");

/// The login roles, without their `hooks_` prefix.
pub const ROLES: &[&str] = &["ingest", "subscribe", "push_worker", "inspector", "maintenance"];

/// Key of the advisory lock that keeps two migrators apart.
const LOCK: i64 = 0x686f_6f6b_735f_6d69;

/// What a run of the migrations did.
#[derive(Debug, Default)]
pub struct Outcome {
    pub applied: Vec<String>,
    pub warnings: Vec<String>,
}

/// Brings the database to the newest schema. Safe to run twice and from two places at once.
pub async fn migrate(session: &mut Session, passwords: Passwords<'_>) -> Result<Outcome> {
    session.execute("select pg_advisory_lock($1)", &[&LOCK]).await.map_err(readable)?;
    let done = migrate_locked(session, passwords).await;
    // The session may be broken; its end releases the lock as well.
    let _ = session.execute("select pg_advisory_unlock($1)", &[&LOCK]).await;
    done
}

async fn migrate_locked(session: &mut Session, passwords: Passwords<'_>) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let with_roles = ensure_roles(session, passwords, &mut outcome.warnings).await?;
    if with_roles {
        session.batch_execute("set role hooks_owner").await.map_err(readable)?;
    }
    let report = runner()?
        .run_async(session.client_mut())
        .await
        .context("a migration failed; nothing of it was kept")?;
    outcome.applied = report.applied_migrations().iter().map(|m| m.to_string()).collect();
    if with_roles {
        session.batch_execute(GRANTS).await.map_err(readable).context("the grants failed")?;
        session.batch_execute("reset role").await.map_err(readable)?;
    }
    Ok(outcome)
}

/// The names of the migrations that the database has not seen.
pub async fn pending(session: &mut Session) -> Result<Vec<String>> {
    let exists: bool = session
        .query_one("select to_regclass('public.refinery_schema_history') is not null", &[])
        .await
        .map_err(readable)?
        .get(0);
    let applied = if exists {
        runner()?.get_applied_migrations_async(session.client_mut()).await.context("reading the history")?
    } else {
        Vec::new()
    };
    let seen: Vec<_> = applied.iter().map(Migration::version).collect();
    let all = all()?;
    Ok(all.iter().filter(|m| !seen.contains(&m.version())).map(|m| m.to_string()).collect())
}

fn runner() -> Result<Runner> {
    Ok(Runner::new(&all()?).set_abort_divergent(true).set_abort_missing(false))
}

fn all() -> Result<Vec<Migration>> {
    let named = MIGRATIONS.iter().map(|(name, sql)| {
        let (number, words) = name.split_once('_').context("a migration is named NNNN_words")?;
        let number: u32 = number.parse().context("a migration is named NNNN_words")?;
        Migration::unapplied(&format!("V{number}__{words}"), sql).context("a migration's name")
    });
    named.collect()
}

/// Makes the roles where this user may, and gives the login roles their passwords. False where it may not:
/// then everything belongs to this user, and the services connect as it.
async fn ensure_roles(
    session: &Session,
    passwords: Passwords<'_>,
    warnings: &mut Vec<String>,
) -> Result<bool> {
    let may: bool = session
        .query_one("select rolsuper or rolcreaterole from pg_roles where rolname = current_user", &[])
        .await
        .map_err(readable)?
        .get(0);
    if !may {
        let there: i64 = session
            .query_one("select count(*) from pg_roles where rolname = 'hooks_owner'", &[])
            .await
            .map_err(readable)?
            .get(0);
        if there == 0 {
            warnings.push(
                "this user may not create roles: the tables belong to it, and every service must connect as it"
                    .to_owned(),
            );
            return Ok(false);
        }
        return Ok(true);
    }
    session.batch_execute(&make_roles()).await.map_err(readable).context("creating the roles failed")?;
    for role in ROLES {
        set_password(session, role, passwords, warnings).await?;
    }
    Ok(true)
}

fn make_roles() -> String {
    let mut sql = String::from(&make_role("hooks_owner", "nologin"));
    for role in ROLES {
        sql.push_str(&make_role(&format!("hooks_{role}"), "login"));
    }
    sql.push_str(
        "grant hooks_owner to hooks_maintenance; grant hooks_owner to current_user; \
         grant create, usage on schema public to hooks_owner; \
         grant usage on schema public to hooks_ingest, hooks_subscribe, hooks_push_worker, hooks_inspector, hooks_maintenance;",
    );
    sql
}

/// Another database of the same server may be migrated at this moment: losing that race is success.
fn make_role(name: &str, login: &str) -> String {
    format!(
        "do $$ begin \
           if not exists (select from pg_roles where rolname = '{name}') then create role {name} {login}; end if; \
         exception when duplicate_object or unique_violation then null; end $$;"
    )
}

async fn set_password(
    session: &Session,
    role: &str,
    passwords: Passwords<'_>,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let variable = password_variable(role);
    let Some(password) = passwords(role)? else { return Ok(()) };
    if password.expose().len() < 8 {
        warnings.push(format!("{variable} is shorter than 8 characters"));
    }
    // A utility statement takes no parameters; format() quotes the literal on the server.
    let statement: String = session
        .query_one(
            "select format('alter role %I password %L', $1::text, $2::text)",
            &[&format!("hooks_{role}"), &password.expose()],
        )
        .await
        .map_err(readable)?
        .get(0);
    session.batch_execute(&statement).await.map_err(readable).with_context(|| format!("setting {variable}"))
}

/// Gives a login role's password, by the role's name without `hooks_`; none leaves it as it is.
pub type Passwords<'a> = &'a (dyn Fn(&str) -> Result<Option<Secret>> + Sync);

/// Passwords from `HOOKS_<ROLE>_PASSWORD` and `HOOKS_<ROLE>_PASSWORD_FILE`.
pub fn passwords_of_environment(role: &str) -> Result<Option<Secret>> {
    secret_variable(&password_variable(role))
}

fn password_variable(role: &str) -> String {
    format!("HOOKS_{}_PASSWORD", role.to_uppercase())
}

/// `NAME`, or the contents of the file that `NAME_FILE` names (one line end at its end is not part of it).
pub fn secret_variable(name: &str) -> Result<Option<Secret>> {
    if let Some(text) = std::env::var(name).ok().filter(|text| !text.is_empty()) {
        return Ok(Some(Secret::new(text)));
    }
    let Ok(path) = std::env::var(format!("{name}_FILE")) else { return Ok(None) };
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("{name}_FILE names `{path}`, which cannot be read"))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    if text.is_empty() {
        bail!("{name}_FILE names `{path}`, which is empty");
    }
    Ok(Some(Secret::new(text)))
}

/// Stores the first administrator's token, when the environment brings one and it is not known yet.
pub async fn store_bootstrap_token(session: &Session) -> Result<bool> {
    let Some(token) = secret_variable("HOOKS_BOOTSTRAP_TOKEN")? else { return Ok(false) };
    if token.expose().len() < 20 {
        bail!("HOOKS_BOOTSTRAP_TOKEN is shorter than 20 characters; make one with `openssl rand -hex 24`");
    }
    let stored = session
        .execute(
            "insert into tokens (id, name, kind, scopes, secret_hash) values ($1, 'bootstrap', 'pat', '{admin}', $2) \
             on conflict (secret_hash) do nothing",
            &[&uuid::Uuid::new_v4(), &hooks_shared::token::hash(token.expose())],
        )
        .await
        .map_err(readable)?;
    Ok(stored > 0)
}

fn readable(error: tokio_postgres::Error) -> anyhow::Error {
    anyhow::anyhow!(describe(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_embedded() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder")
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.starts_with(|c: char| c.is_ascii_digit()))
            .map(|name| name.trim_end_matches(".sql").to_owned())
            .collect();
        names.sort();
        assert_eq!(names, MIGRATIONS.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>());
    }

    #[test]
    fn the_newest_migration_is_the_schema_version() {
        let newest = all().expect("names").iter().map(Migration::version).max();
        assert_eq!(newest, Some(hooks_shared::db::SCHEMA_VERSION));
    }
}
