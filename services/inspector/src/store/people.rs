//! People.

use super::Result;
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

const GET: Sql = sql!("people_get.sql");
const BY_EMAIL: Sql = sql!("people_by_email.sql");
const CREATE: Sql = sql!("people_create.sql");
const LIST: Sql = sql!("people_list.sql");
const UPDATE: Sql = sql!("people_update.sql");
const SET_PASSWORD: Sql = sql!("people_set_password.sql");
const LOCK_ADMINS: Sql = sql!("people_lock_admins.sql");
const DEACTIVATE: Sql = sql!("people_deactivate.sql");
const REACTIVATE: Sql = sql!("people_reactivate.sql");
const ANY: Sql = sql!("people_any.sql");
pub(super) const STATEMENTS: &[Sql] =
    &[GET, BY_EMAIL, CREATE, LIST, UPDATE, SET_PASSWORD, LOCK_ADMINS, DEACTIVATE, REACTIVATE, ANY];

/// Somebody who may sign in.
#[derive(Debug, Clone)]
pub struct Person {
    pub id: Uuid,
    pub email: String,
    pub name: String,
    pub role: String,
    /// The sources a member may see.
    pub scopes: Vec<String>,
    pub created_at: OffsetDateTime,
    pub deactivated_at: Option<OffsetDateTime>,
}

impl Person {
    pub fn new(email: &str, name: &str, role: &str, scopes: &[String]) -> Self {
        Self {
            id: Uuid::new_v4(),
            email: email.to_owned(),
            name: name.to_owned(),
            role: role.to_owned(),
            scopes: scopes.to_vec(),
            created_at: OffsetDateTime::now_utc(),
            deactivated_at: None,
        }
    }

    pub fn is_admin(&self) -> bool {
        self.role == "admin"
    }

    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            email: row.try_get("email")?,
            name: row.try_get("name")?,
            role: row.try_get("role")?,
            scopes: row.try_get("scopes")?,
            created_at: row.try_get("created_at")?,
            deactivated_at: row.try_get("deactivated_at")?,
        })
    }
}

pub async fn get(db: &Session, id: Uuid) -> Result<Option<Person>> {
    db.row(GET, &[&id]).await?.as_ref().map(Person::from_row).transpose()
}

/// The person and their password's hash.
pub async fn by_email(db: &Session, email: &str) -> Result<Option<(Person, String)>> {
    let row = db.row(BY_EMAIL, &[&email]).await?;
    row.map(|row| Ok((Person::from_row(&row)?, row.try_get("password_hash")?))).transpose()
}

/// False where the address is taken.
pub async fn create(db: &Session, person: &Person, password_hash: &str) -> Result<bool> {
    let stored = db
        .run(CREATE, &[&person.id, &person.email, &person.name, &person.role, &person.scopes, &password_hash])
        .await?;
    Ok(stored == 1)
}

/// By address, after `after`.
pub async fn list(db: &Session, role: Option<&str>, after: &str, limit: i64) -> Result<Vec<Person>> {
    db.rows(LIST, &[&role, &after, &limit]).await?.iter().map(Person::from_row).collect()
}

/// What an administrator may change of a person; None leaves it.
#[derive(Debug, Default)]
pub struct Change {
    pub name: Option<String>,
    pub role: Option<String>,
    pub scopes: Option<Vec<String>>,
}

pub async fn update(db: &Session, id: Uuid, change: &Change) -> Result<Option<Person>> {
    let row = db.row(UPDATE, &[&id, &change.name, &change.role, &change.scopes]).await?;
    row.as_ref().map(Person::from_row).transpose()
}

pub async fn set_password(db: &Session, id: Uuid, password_hash: &str) -> Result<bool> {
    Ok(db.run(SET_PASSWORD, &[&id, &password_hash]).await? == 1)
}

/// The active administrators, locked in order, so that two cannot remove each other.
pub async fn lock_admins(db: &Session) -> Result<Vec<Uuid>> {
    db.rows(LOCK_ADMINS, &[]).await?.iter().map(|row| Ok(row.try_get("id")?)).collect()
}

/// False where they are deactivated already.
pub async fn deactivate(db: &Session, id: Uuid) -> Result<bool> {
    Ok(db.run(DEACTIVATE, &[&id]).await? == 1)
}

pub async fn reactivate(db: &Session, id: Uuid) -> Result<bool> {
    Ok(db.run(REACTIVATE, &[&id]).await? == 1)
}

/// Whether there are people at all.
pub async fn any(db: &Session) -> Result<bool> {
    let statement = db.statement(ANY).await?;
    Ok(db.query_one(&statement, &[]).await?.try_get("there_are")?)
}
