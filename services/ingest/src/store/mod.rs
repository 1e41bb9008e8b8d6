//! Every statement of this service. The SQL stands in the files beside this one.

use hooks_shared::db::Sql;
use hooks_shared::sql;

pub const LOCK_HEADS: Sql = sql!("lock_heads.sql");
pub const APPEND: Sql = sql!("append.sql");
pub const DIAGNOSE: Sql = sql!("diagnose.sql");
pub const ENSURE_HEADS: Sql = sql!("ensure_heads.sql");
pub const RAISE_HEADS: Sql = sql!("raise_heads.sql");
pub const HAS_PARTITION: Sql = sql!("has_partition.sql");

/// For the test that prepares each of them.
pub const ALL: &[Sql] = &[LOCK_HEADS, APPEND, DIAGNOSE, ENSURE_HEADS, RAISE_HEADS, HAS_PARTITION];
