//! The statements of operators. A test prepares every one on the migrated database.

use crate::db::Sql;
use crate::sql;

pub(super) const INSERT_SUBSCRIPTION: Sql = sql!("store/insert_subscription.sql");
pub(super) const UPDATE_SUBSCRIPTION: Sql = sql!("store/update_subscription.sql");
pub(super) const ROTATE_SECRET: Sql = sql!("store/rotate_secret.sql");
pub(super) const RESEAL: Sql = sql!("store/reseal.sql");
pub(super) const SECRETS: Sql = sql!("store/secrets.sql");
pub(super) const LOCK_CURSOR: Sql = sql!("store/lock_cursor.sql");
pub(super) const SET_STATE: Sql = sql!("store/set_state.sql");
pub(super) const DELETE_SUBSCRIPTION: Sql = sql!("store/delete_subscription.sql");
pub(super) const LIST_SUBSCRIPTIONS: Sql = sql!("store/list_subscriptions.sql");
pub(super) const FIND_DELIVERY: Sql = sql!("store/find_delivery.sql");
pub(super) const REPLAY_DELIVERY: Sql = sql!("store/replay_delivery.sql");
pub(super) const PLAN_REPLAY: Sql = sql!("store/plan_replay.sql");
pub(super) const PICK_FAILED: Sql = sql!("store/pick_failed.sql");
pub(super) const REPLAY_PICKED: Sql = sql!("store/replay_picked.sql");
pub(super) const CANCEL_DELIVERY: Sql = sql!("store/cancel_delivery.sql");
pub(super) const CANCEL_WHERE: Sql = sql!("store/cancel_where.sql");
pub(super) const REPLAY_EVENT: Sql = sql!("store/replay_event.sql");
pub(super) const FIND_EVENT: Sql = sql!("store/find_event.sql");
pub(super) const DAY_OF_SEQUENCE: Sql = sql!("store/day_of_sequence.sql");
pub(super) const LOCK_REPLAY_HEAD: Sql = sql!("store/lock_replay_head.sql");
pub(super) const INSERT_REPLAY_REQUEST: Sql = sql!("store/insert_replay_request.sql");
pub(super) const SHOW_DELIVERY: Sql = sql!("store/show_delivery.sql");
pub(super) const LIST_ATTEMPTS: Sql = sql!("store/list_attempts.sql");
pub(super) const WRITE_AUDIT: Sql = sql!("store/write_audit.sql");
pub(super) const LIST_AUDIT: Sql = sql!("store/list_audit.sql");
pub(super) const ANNOUNCE_TEST: Sql = sql!("store/announce_test.sql");

/// All of them.
pub const STATEMENTS: &[Sql] = &[
    INSERT_SUBSCRIPTION,
    UPDATE_SUBSCRIPTION,
    ROTATE_SECRET,
    RESEAL,
    SECRETS,
    LOCK_CURSOR,
    SET_STATE,
    DELETE_SUBSCRIPTION,
    LIST_SUBSCRIPTIONS,
    FIND_DELIVERY,
    REPLAY_DELIVERY,
    PLAN_REPLAY,
    PICK_FAILED,
    REPLAY_PICKED,
    CANCEL_DELIVERY,
    CANCEL_WHERE,
    REPLAY_EVENT,
    FIND_EVENT,
    DAY_OF_SEQUENCE,
    LOCK_REPLAY_HEAD,
    INSERT_REPLAY_REQUEST,
    SHOW_DELIVERY,
    LIST_ATTEMPTS,
    WRITE_AUDIT,
    LIST_AUDIT,
    ANNOUNCE_TEST,
];
