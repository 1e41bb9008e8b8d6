//! Which schema this build works with. `hooksctl migrate` changes the schema; services only look.

use super::session::{Session, Sql};

/// The newest migration this build was made for.
pub const SCHEMA_VERSION: i32 = 4;

/// The claim protocol this build speaks (law L12, services/push-worker/README.md).
pub const PROTOCOL_VERSION: i32 = 1;

/// What the database's schema means for this build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaState {
    Fits,
    /// Nothing of ours is there.
    Missing,
    /// The database is older than this build.
    TooOld {
        database: i32,
    },
    /// The database has moved on to where builds as old as this one no longer work.
    TooNew {
        database: i32,
        oldest: i32,
    },
}

impl SchemaState {
    /// None when it fits; else what is wrong and what to do.
    pub fn complaint(&self) -> Option<String> {
        match self {
            SchemaState::Fits => None,
            SchemaState::Missing => {
                Some("the database has no hooks schema; run `hooksctl migrate`".to_owned())
            }
            SchemaState::TooOld { database } => Some(format!(
                "the database schema is at version {database}, this build needs {SCHEMA_VERSION}; run `hooksctl migrate`"
            )),
            SchemaState::TooNew { database, oldest } => Some(format!(
                "the database schema is at version {database} and needs builds made for {oldest} or later, this one was made for {SCHEMA_VERSION}; start a newer build"
            )),
        }
    }
}

const EXISTS: Sql =
    Sql { name: "schema_exists", text: "select to_regclass('public.schema_versions') is not null as exists" };
const VERSION: Sql = Sql {
    name: "schema_version",
    text: "select version, oldest_build from public.schema_versions order by version desc limit 1",
};

/// Compares the database's schema with what this build needs.
pub async fn check_schema(session: &Session) -> Result<SchemaState, tokio_postgres::Error> {
    let exists = session.row(EXISTS, &[]).await?.is_some_and(|row| row.get("exists"));
    if !exists {
        return Ok(SchemaState::Missing);
    }
    let Some(row) = session.row(VERSION, &[]).await? else { return Ok(SchemaState::Missing) };
    Ok(judge(row.get("version"), row.get("oldest_build"), SCHEMA_VERSION))
}

fn judge(database: i32, oldest: i32, build: i32) -> SchemaState {
    if database < build {
        SchemaState::TooOld { database }
    } else if build < oldest {
        SchemaState::TooNew { database, oldest }
    } else {
        SchemaState::Fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_fits_between_the_oldest_allowed_and_the_database() {
        assert_eq!(judge(3, 2, 2), SchemaState::Fits);
        assert_eq!(judge(3, 2, 3), SchemaState::Fits);
        assert_eq!(judge(3, 2, 4), SchemaState::TooOld { database: 3 });
        assert_eq!(judge(3, 2, 1), SchemaState::TooNew { database: 3, oldest: 2 });
    }
}
