//! Every statement of this service. The SQL stands in the files beside this one.

use hooks_shared::db::Sql;
use hooks_shared::sql;

pub const LOCK_HEADS: Sql = sql!("lock_heads.sql");
pub const APPEND: Sql = sql!("append.sql");
pub const DIAGNOSE: Sql = sql!("diagnose.sql");
pub const ENSURE_HEADS: Sql = sql!("ensure_heads.sql");
pub const RAISE_HEADS: Sql = sql!("raise_heads.sql");
pub const HAS_PARTITION: Sql = sql!("has_partition.sql");
pub const KEEP_REJECTED: Sql = sql!("keep_rejected.sql");
pub const FORGET_REJECTED: Sql = sql!("forget_rejected.sql");
pub const KEEP_HANDSHAKE: Sql = sql!("keep_handshake.sql");
pub const CAPTURE_SECRET: Sql = sql!("capture_secret.sql");
pub const CAPTURED_SECRETS: Sql = sql!("captured_secrets.sql");

/// For the test that prepares each of them.
pub const ALL: &[Sql] = &[
    LOCK_HEADS,
    APPEND,
    DIAGNOSE,
    ENSURE_HEADS,
    RAISE_HEADS,
    HAS_PARTITION,
    KEEP_REJECTED,
    FORGET_REJECTED,
    KEEP_HANDSHAKE,
    CAPTURE_SECRET,
    CAPTURED_SECRETS,
];
