//! The scenarios, in the order in which they run: what would make all others fail comes first.

mod database;
mod delivery;
mod first_event;
mod network;
mod operation;
mod postgres;

use std::future::Future;
use std::pin::Pin;

/// A scenario's future.
pub type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

macro_rules! scenarios {
    ($($module:ident::$name:ident),* $(,)?) => {
        /// Name and beginning of each.
        pub const ALL: &[(&str, fn() -> Running)] = &[$((stringify!($name), || Box::pin($module::$name()))),*];
    };
}

scenarios![
    first_event::a_fresh_stack_is_healthy_and_a_demo_event_reaches_a_laptop,
    first_event::production_refuses_the_development_secrets,
    network::ingest_cut_off_answers_503_and_accepts_again,
    network::subscribe_cut_off_loses_no_event,
    network::a_push_worker_cut_off_with_claims_is_relieved_and_recovers,
    delivery::four_push_workers_killed_in_turn_deliver_everything,
    database::postgres_killed_stopped_and_restarted_loses_nothing,
    database::a_full_disk_is_answered_503_until_there_is_room,
    postgres::a_promoted_synchronous_standby_has_every_accepted_event,
    postgres::a_promoted_asynchronous_standby_gives_no_number_twice,
    postgres::through_pgbouncer_everything_works,
    postgres::tls_is_verified_as_far_as_sslmode_says,
    postgres::passwords_rotate_by_file_without_a_restart,
    postgres::postgresql_15_works,
    operation::alarms_and_dashboard_name_metrics_that_exist,
    operation::proxies_pass_streams_on_unbuffered,
    operation::a_backup_restores_and_numbers_and_deliveries_continue,
    operation::an_upgrade_under_load_loses_nothing,
];
