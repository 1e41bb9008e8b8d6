//! Conformance: claiming (services/push-worker/README.md, "Conformance").

use crate::rig::*;
use hooks_push_worker::claim::{Ask, Unproven, claim};
use hooks_push_worker::store::STATEMENTS;
use std::collections::BTreeSet;

#[tokio::test]
async fn every_statement_prepares_for_its_role() {
    let rig = Rig::new().await;
    let (worker, operator) = (rig.session().await, rig.operator().await);
    for sql in STATEMENTS {
        worker.statement(*sql).await.unwrap_or_else(|error| panic!("{}: {error:?}", sql.name));
    }
    for sql in hooks_shared::push::STATEMENTS {
        operator.statement(*sql).await.unwrap_or_else(|error| panic!("{}: {error:?}", sql.name));
    }
}

#[tokio::test]
async fn cl1_a_locked_row_is_passed_over_for_the_other() {
    let rig = Rig::new().await;
    let due = rig.due(2).await;
    for locked in &due {
        let holder = rig.db.client().await;
        holder.batch_execute("begin").await.expect("begin");
        holder.query("select from deliveries where id = $1 for update", &[&locked.id]).await.expect("lock");
        let session = rig.session().await;
        // Waiting for the lock would end with an error of the session's time limit.
        let claims = take(&session, 1).await;
        let other = due.iter().find(|one| one.id != locked.id).expect("two");
        assert_eq!(claims.iter().map(|c| &c.id).collect::<Vec<_>>(), [&other.id]);
        give_back(&session, &claims).await;
        holder.batch_execute("rollback").await.expect("rollback");
    }
}

#[tokio::test]
async fn cl2_a_claim_never_waits_for_a_lock() {
    let rig = Rig::new().await;
    let due = rig.due(1).await;
    for lock in ["select from deliveries for update", "select from subscription_cursors for update"] {
        let holder = rig.db.client().await;
        holder.batch_execute(&format!("begin; {lock}")).await.expect("lock");
        assert_eq!(take(&rig.session().await, 10).await, []);
    }
    assert_eq!(rig.delivery(&due[0].id).await.state, "pending");
}

#[tokio::test]
async fn cl3_six_claimers_share_24_rows_without_overlap() {
    let rig = Rig::new().await;
    let due: BTreeSet<String> = rig.due(24).await.into_iter().map(|c| c.id).collect();
    let claims = claim_at_once(&rig, 6, 24).await.concat();
    assert_eq!(claims.len(), 24);
    assert_eq!(claims.iter().cloned().collect::<BTreeSet<_>>(), due);
    for id in &due {
        let row = rig.delivery(id).await;
        let left = row.lease_left.expect("a lease");
        assert!(row.state == "processing" && left > 50.0 && left <= 60.0, "{row:?}");
    }
}

#[tokio::test]
async fn cl4_four_claimers_of_five_get_five_each() {
    let rig = Rig::new().await;
    rig.due(40).await;
    let claims = claim_at_once(&rig, 4, 5).await;
    assert_eq!(claims.iter().map(Vec::len).collect::<Vec<_>>(), [5, 5, 5, 5]);
    assert_eq!(claims.concat().into_iter().collect::<BTreeSet<_>>().len(), 20);
}

/// What `claimers` on connections of their own get, claiming at the same instant.
async fn claim_at_once(rig: &Rig, claimers: usize, limit: usize) -> Vec<Vec<String>> {
    let mut sessions = Vec::new();
    for _ in 0..claimers {
        sessions.push(rig.session().await);
    }
    let barrier = tokio::sync::Barrier::new(claimers);
    let claims = sessions.iter().map(async |session| {
        barrier.wait().await;
        take(session, limit).await.into_iter().map(|claim| claim.id).collect::<Vec<_>>()
    });
    futures_util::future::join_all(claims).await
}

#[tokio::test]
async fn cl5_a_claim_is_committed_and_seen_by_others() {
    let rig = Rig::new().await;
    let claimed = rig.one_claimed(&rig.session().await).await;
    let row = rig.delivery(&claimed.id).await;
    assert_eq!((row.counts(), row.token), (("processing", 0, 0), Some(claimed.token)));
}

#[tokio::test]
async fn cl6_a_lease_that_holds_is_left_alone() {
    let rig = Rig::new().await;
    let session = rig.session().await;
    rig.one_claimed(&session).await;
    rig.pass(30.0).await;
    assert_eq!(take(&session, 10).await, []);
}

#[tokio::test]
async fn cl7_a_lease_that_ended_is_claimed_again_under_a_new_token() {
    let rig = Rig::new().await;
    let session = rig.session().await;
    let first = rig.one_claimed(&session).await;
    rig.pass(61.0).await;
    let again = one(claim(&session, &ask(10)).await.expect("a claim"));
    assert_eq!(again.id, first.id);
    assert_ne!(again.token, first.token);
    assert!(again.alone);
}

#[tokio::test]
async fn cl7b_the_bounds_are_inclusive() {
    let rig = Rig::new().await;
    let session = rig.session().await;
    rig.one_claimed(&session).await;
    // To the microsecond: the statement's own time decides, and it is later than this one.
    rig.db.execute("update deliveries set claim_expires_at = clock_timestamp()", &[]).await;
    assert_eq!(take(&session, 10).await.len(), 1);
}

#[tokio::test]
async fn cl8_of_two_who_reclaim_one_wins() {
    let rig = Rig::new().await;
    rig.one_claimed(&rig.session().await).await;
    rig.pass(61.0).await;
    let mut got: Vec<usize> = claim_at_once(&rig, 2, 10).await.iter().map(Vec::len).collect();
    got.sort_unstable();
    assert_eq!(got, [0, 1]);
}

#[tokio::test]
async fn cl9_a_delivered_row_is_never_claimed() {
    let rig = Rig::new().await;
    let session = rig.session().await;
    let claimed = rig.one_claimed(&session).await;
    record(&session, success(&claimed)).await;
    rig.db
        .execute(
            "update deliveries set next_attempt_at = next_attempt_at - interval '1 day',
                 completed_at = completed_at - interval '1 day'",
            &[],
        )
        .await;
    assert_eq!(take(&session, 10).await, []);
}

#[tokio::test]
async fn a_cap_on_requests_in_flight_is_exact_with_many_claimers() {
    let rig = Rig::new().await;
    rig.subscribe("one", "http://127.0.0.1:9/").await;
    rig.many_events(200).await;
    let claimed: usize = claim_at_once(&rig, 8, 50).await.iter().map(Vec::len).sum();
    assert_eq!(claimed, 10);
    assert_eq!(take(&rig.session().await, 50).await, []);
}

#[tokio::test]
async fn an_older_protocol_neither_claims_nor_records() {
    let rig = Rig::new().await;
    let session = rig.session().await;
    let claimed = rig.one_claimed(&session).await;
    rig.events(1).await;
    rig.pass(61.0).await;
    rig.db.execute("update claim_protocol set version = version + 1", &[]).await;
    assert_eq!(take(&session, 10).await, []);
    let recorded =
        hooks_push_worker::store::record(&session, 1, "test", &[success(&claimed)]).await.expect("runs");
    assert_eq!(recorded, []);
    assert_eq!(rig.delivery(&claimed.id).await.counts(), ("processing", 0, 0));
}

#[tokio::test]
async fn the_schema_refuses_what_the_laws_forbid() {
    let rig = Rig::new().await;
    rig.one_claimed(&rig.session().await).await;
    let client = rig.db.client().await;
    for broken in [
        "state = 'pending'",
        "claim_token = null",
        "claim_expires_at = null",
        "state = 'delivered', claim_token = null, claim_expires_at = null",
        "completed_at = now()",
        "state = 'lost'",
        "cycle_attempts = 1",
        "failure = 'why'",
    ] {
        let refused = client.execute(&format!("update deliveries set {broken}"), &[]).await;
        assert!(refused.is_err_and(|error| error.code().is_some_and(|c| c.code() == "23514")), "{broken}");
    }
}

#[tokio::test]
async fn what_has_not_succeeded_takes_one_each_and_its_share_beyond() {
    let rig = Rig::new().await;
    let held = rig.subscribe("held", "http://127.0.0.1:9/").await;
    let other = rig.subscribe("other", "http://127.0.0.1:9/").await;
    let proven = rig.subscribe("proven", "http://127.0.0.1:9/").await;
    rig.many_events(20).await;
    rig.db.execute("update subscription_cursors set proven = subscription_id = $1", &[&proven]).await;
    let session = rig.session().await;
    // With 18 to give there are six for each.
    for (more, expected) in [(0, [0, 1, 6]), (1, [0, 1, 6]), (4, [2, 3, 6]), (usize::MAX, [6, 6, 6])] {
        let ask = Ask { unproven: Unproven { holding: [held.clone()].into(), more }, ..ask(18) };
        let batch = claim(&session, &ask).await.expect("a claim");
        let of = |id: &String| batch.claims.iter().filter(|claim| claim.subscription == *id).count();
        assert_eq!([of(&held), of(&other), of(&proven)], expected, "{more}");
        assert_eq!(batch.idle.contains(&held), expected[0] == 0);
        give_back(&session, &batch.claims).await;
    }
}
