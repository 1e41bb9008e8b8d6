//! The statements of maintenance. A test prepares every one on the migrated database.

use crate::db::Sql;
use crate::sql;

pub const ACCESS: Sql = sql!("store/access.sql");
pub const DAYS_AHEAD: Sql = sql!("store/days_ahead.sql");
pub const CREATE_PARTITION: Sql = sql!("store/create_partition.sql");
pub const PARTITIONS: Sql = sql!("store/partitions.sql");
pub const SOURCES_OF_DAY: Sql = sql!("store/sources_of_day.sql");
pub const DELETE_EXPIRED: Sql = sql!("store/delete_expired.sql");
pub const FORGET_DAYS: Sql = sql!("store/forget_days.sql");
pub const FORGET_DAY: Sql = sql!("store/forget_day.sql");
pub const TIDY_TOKENS: Sql = sql!("store/tidy_tokens.sql");
pub const TIDY_REPLAYS: Sql = sql!("store/tidy_replays.sql");
pub const TIDY_INSTANCES: Sql = sql!("store/tidy_instances.sql");
pub const TIDY_LISTENERS: Sql = sql!("store/tidy_listeners.sql");
pub const TIDY_HANDSHAKES: Sql = sql!("store/tidy_handshakes.sql");

/// All of them.
pub const STATEMENTS: &[Sql] = &[
    ACCESS,
    DAYS_AHEAD,
    CREATE_PARTITION,
    PARTITIONS,
    SOURCES_OF_DAY,
    DELETE_EXPIRED,
    FORGET_DAYS,
    FORGET_DAY,
    TIDY_TOKENS,
    TIDY_REPLAYS,
    TIDY_INSTANCES,
    TIDY_LISTENERS,
    TIDY_HANDSHAKES,
];
