//! A COMMIT whose answer is lost: the same batch again, until it is certain.

use crate::stage::{FEEDS, PATIENCE, SOURCES, Stage, hub, post, sequence};
use futures_util::future::join_all;
use hooks_testkit::db::TestDb;
use hooks_testkit::gate::Gate;
use hooks_testkit::http::{RawResponse, exchange};
use hooks_testkit::load::Load;
use hooks_testkit::proxy::{At, Cut, Proxy};
use hooks_testkit::until;
use std::collections::BTreeSet;

const CUTS: [Cut; 3] = [Cut::Before, Cut::AfterForwarding, Cut::AfterAnswer];

async fn behind_a_proxy(settings: &str) -> (Stage, Proxy) {
    let db = TestDb::create().await;
    let url = db.url_for("ingest");
    let proxy = Proxy::to_database(&url).await;
    let through = proxy.url(&url);
    (Stage::on(db, &through, &format!("{settings}{SOURCES}")).await, proxy)
}

async fn send_twenty(stage: &Stage, prefix: &str) -> Vec<RawResponse> {
    let requests: Vec<_> = (0..20).map(|n| format!("{prefix}-{n}")).collect();
    join_all(requests.iter().map(|id| async move {
        exchange(stage.address, &post("hub", &hub(id, id.as_bytes()), id.as_bytes())).await
    }))
    .await
}

#[tokio::test]
async fn a_commit_that_is_cut_once_is_sent_again_and_nothing_is_stored_twice() {
    for window in ["24h", "off"] {
        let (stage, proxy) = behind_a_proxy(&format!("dedupe_window: {window}")).await;
        let mut expected = 0;
        for cut in CUTS {
            let trip = proxy.cut_when(At::commit(), cut);
            let answers = send_twenty(&stage, &format!("{cut:?}")).await;
            assert!(answers.iter().all(|answer| answer.status == 200), "{cut:?}, window {window}");
            assert_eq!(trip.fired(), 1);
            let numbers: BTreeSet<_> = answers.iter().map(sequence).collect();
            assert_eq!(numbers, (expected + 1..=expected + 20).collect(), "{cut:?}, window {window}");
            expected += 20;
            assert_eq!(stage.count("hub").await, expected, "{cut:?}, window {window}");
        }
    }
}

#[tokio::test]
async fn a_commit_that_is_never_heard_of_is_not_acknowledged_and_its_repeat_is_recognised() {
    for cut in CUTS {
        let (stage, proxy) = behind_a_proxy("ingest: {commit_deadline: 1s}").await;
        let trip = proxy.cut_when(At::commit().always(), cut);
        let answers = send_twenty(&stage, "d").await;
        assert!(answers.iter().all(|answer| answer.status == 503), "{cut:?}");
        assert!(trip.fired() > 0);
        proxy.clear_trips();
        let answers = send_twenty(&stage, "d").await;
        assert!(answers.iter().all(|answer| answer.status == 200), "{cut:?}");
        assert_eq!(stage.count("hub").await, 20, "{cut:?}");
    }
}

/// The rows of append are no acknowledgement yet.
#[tokio::test]
async fn a_link_that_is_cut_between_the_answer_of_append_and_commit_acknowledges_nothing_that_is_not_there() {
    let (stage, proxy) = behind_a_proxy("").await;
    let trip = proxy.hold_when(At::commit(), Gate::closed());
    let answers = send_twenty(&stage, "d");
    let cut = async {
        trip.wait(PATIENCE).await;
        let waits = "select 1 from pg_stat_activity where datname = current_database()
            and application_name = 'hooks-ingest lane' and state = 'idle in transaction'";
        until(PATIENCE, "append to be answered", async || stage.db.query(waits, &[]).await.len() == 1).await;
        proxy.cut().await;
    };
    let (answers, ()) = futures_util::join!(answers, cut);
    assert!(answers.iter().all(|answer| answer.status == 200));
    let told: BTreeSet<_> = answers.iter().map(sequence).collect();
    let stored = stage.db.query("select sequence from events", &[]).await;
    assert_eq!(told, stored.iter().map(|row| row.get(0)).collect());
    assert_eq!(told.len(), 20);
}

/// The burst itself may be cut anywhere, too: after the lock, in the middle of append.
#[tokio::test]
async fn a_burst_that_is_cut_before_its_commit_is_sent_again() {
    let (stage, proxy) = behind_a_proxy("").await;
    for (number, statement) in ["begin", "for no key update", "find_repeats("].into_iter().enumerate() {
        for (at, cut) in CUTS.into_iter().enumerate() {
            let trip = proxy.cut_when(At::sql_with(statement), cut);
            let answers = send_twenty(&stage, &format!("{statement}-{cut:?}")).await;
            assert!(answers.iter().all(|answer| answer.status == 200), "{statement}, {cut:?}");
            assert_eq!(trip.fired(), 1, "{statement}, {cut:?}");
            assert_eq!(stage.count("hub").await, 20 * (3 * number + at + 1) as i64, "{statement}, {cut:?}");
        }
    }
}

#[tokio::test]
async fn under_load_with_every_tenth_commit_cut_somewhere_the_accounts_agree() {
    let (stage, proxy) = behind_a_proxy("ingest: {lanes: 2}").await;
    let is_commit = |sql: &str| sql.trim().eq_ignore_ascii_case("commit");
    let trips = CUTS.map(|cut| {
        let sometimes = move |sql: &str| is_commit(sql) && rand::random_ratio(1, 30);
        proxy.cut_when(At::sql(sometimes).always(), cut)
    });
    let load = Load::start(&[stage.address], 16, &FEEDS);
    load.goes_on(1000).await;
    for trip in &trips {
        trip.wait(PATIENCE).await;
    }
    proxy.clear_trips();
    assert!(stage.settle(load).await >= 1000);
}
