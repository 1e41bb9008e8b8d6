//! The statements of maintenance. A test prepares every one on the migrated database.

use crate::db::Sql;
use crate::sql;

pub const ACCESS: Sql = sql!("store/access.sql");
pub const DAYS_AHEAD: Sql = sql!("store/days_ahead.sql");
pub const CREATE_PARTITION: Sql = sql!("store/create_partition.sql");
pub const PARTITIONS: Sql = sql!("store/partitions.sql");
pub const SOURCES_OF_DAY: Sql = sql!("store/sources_of_day.sql");
pub const NEEDED_BY_PUSH: Sql = sql!("store/needed_by_push.sql");
pub const OPEN_DELIVERIES: Sql = sql!("store/open_deliveries.sql");
pub const LOCK_SOURCE_CURSORS: Sql = sql!("store/lock_source_cursors.sql");
pub const EXPIRE_BACKLOG: Sql = sql!("store/expire_backlog.sql");
pub const TELL_EXPIRED: Sql = sql!("store/tell_expired.sql");
pub const DELETE_EXPIRED: Sql = sql!("store/delete_expired.sql");
pub const DROP_SEARCH_PARTITIONS: Sql = sql!("store/drop_search_partitions.sql");
pub const FORGET_DAYS: Sql = sql!("store/forget_days.sql");
pub const FORGET_DAY: Sql = sql!("store/forget_day.sql");
pub const PURGE_HISTORY: Sql = sql!("store/purge_history.sql");
pub const PURGE_DAY: Sql = sql!("store/purge_day.sql");
pub const PURGE_SUBSCRIPTIONS: Sql = sql!("store/purge_subscriptions.sql");
pub const TIDY_TOKENS: Sql = sql!("store/tidy_tokens.sql");
pub const TIDY_REPLAYS: Sql = sql!("store/tidy_replays.sql");
pub const TIDY_INSTANCES: Sql = sql!("store/tidy_instances.sql");
pub const TIDY_LISTENERS: Sql = sql!("store/tidy_listeners.sql");
pub const TIDY_PEOPLE: Sql = sql!("store/tidy_people.sql");
pub const TIDY_HANDSHAKES: Sql = sql!("store/tidy_handshakes.sql");
pub const TIDY_AUDIT: Sql = sql!("store/tidy_audit.sql");
pub const TIDY_NOTICES: Sql = sql!("store/tidy_notices.sql");

/// All of them.
pub const STATEMENTS: &[Sql] = &[
    ACCESS,
    DAYS_AHEAD,
    CREATE_PARTITION,
    PARTITIONS,
    SOURCES_OF_DAY,
    NEEDED_BY_PUSH,
    OPEN_DELIVERIES,
    LOCK_SOURCE_CURSORS,
    EXPIRE_BACKLOG,
    TELL_EXPIRED,
    DELETE_EXPIRED,
    DROP_SEARCH_PARTITIONS,
    FORGET_DAYS,
    FORGET_DAY,
    PURGE_HISTORY,
    PURGE_DAY,
    PURGE_SUBSCRIPTIONS,
    TIDY_TOKENS,
    TIDY_REPLAYS,
    TIDY_INSTANCES,
    TIDY_LISTENERS,
    TIDY_PEOPLE,
    TIDY_HANDSHAKES,
    TIDY_AUDIT,
    TIDY_NOTICES,
];
