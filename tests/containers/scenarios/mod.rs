//! The scenarios, each with a stack of its own.

mod database;
mod delivery;
mod first_event;
mod manifests;
mod network;
mod operation;
mod postgres;
mod upgrade;

use std::pin::Pin;

/// The beginning of a scenario.
pub type Scenario = fn() -> Pin<Box<dyn Future<Output = ()> + Send>>;

macro_rules! scenarios {
    ($($module:ident::$name:ident),* $(,)?) => {
        &[$((stringify!($name), || Box::pin($module::$name()))),*]
    };
}

/// Alone and before all others: they would fail too, and what it measures is the machine at rest.
pub const FIRST: &[(&str, Scenario)] =
    scenarios![first_event::a_fresh_stack_is_healthy_and_a_demo_event_reaches_a_laptop];

/// Beside each other, the longest first.
pub const BESIDE: &[(&str, Scenario)] = scenarios![
    database::postgres_killed_stopped_and_restarted_loses_nothing,
    delivery::four_push_workers_killed_in_turn_deliver_everything,
    operation::a_backup_restores_and_numbers_and_deliveries_continue,
    upgrade::an_upgrade_under_load_loses_nothing,
    network::a_push_worker_cut_off_with_claims_is_relieved_and_recovers,
    first_event::production_refuses_the_development_secrets,
    postgres::a_promoted_synchronous_standby_has_every_accepted_event,
    postgres::a_promoted_asynchronous_standby_gives_no_number_twice,
    postgres::through_pgbouncer_everything_works,
    postgres::tls_is_verified_as_far_as_sslmode_says,
    postgres::passwords_rotate_by_file_without_a_restart,
    database::a_full_disk_is_answered_503_until_there_is_room,
    network::subscribe_cut_off_loses_no_event,
    network::ingest_cut_off_answers_503_and_accepts_again,
    postgres::postgresql_15_works,
    operation::proxies_pass_streams_on_unbuffered,
    operation::alarms_and_dashboard_name_metrics_that_exist,
    manifests::kubernetes_objects_fit_together,
];
