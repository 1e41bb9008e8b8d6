//! Conformance: who owns a claim (services/push-worker/README.md, "Conformance").

use crate::rig::*;
use hooks_push_worker::claim::claim;
use hooks_push_worker::store::{self, Claimed, Row};
use hooks_shared::db::{PROTOCOL_VERSION, Session};
use uuid::Uuid;

/// A delivery that A has claimed, and B after A's lease ended.
struct Contest {
    rig: Rig,
    session: Session,
    a: Claimed,
    b: Claimed,
}

async fn contest() -> Contest {
    let rig = Rig::new().await;
    let session = rig.session().await;
    let a = rig.one_claimed(&session).await;
    let b = reclaimed(&rig, &session).await;
    Contest { rig, session, a, b }
}

async fn reclaimed(rig: &Rig, session: &Session) -> Claimed {
    rig.pass(61.0).await;
    one(claim(session, &ask(1)).await.expect("a claim"))
}

impl Contest {
    async fn row(&self) -> Delivery {
        self.rig.delivery(&self.a.id).await
    }

    /// Records under a claim; whether it was the owner's.
    async fn owns(&self, row: Row) -> bool {
        record(&self.session, row).await.owner
    }

    async fn numbers(&self) -> Vec<i32> {
        self.rig.numbers(&self.a.id).await
    }
}

#[tokio::test]
async fn fn1_a_late_success_moves_nothing_and_the_owners_failure_counts() {
    let c = contest().await;
    assert!(!c.owns(success(&c.a)).await);
    let meanwhile = c.row().await;
    assert_eq!((meanwhile.counts(), meanwhile.token), (("processing", 1, 0), Some(c.b.token)));
    assert!(meanwhile.lease_left.is_some_and(|left| left > 50.0) && meanwhile.completed_at.is_none());
    assert!(c.owns(final_failure(&c.b)).await);
    let end = c.row().await;
    assert_eq!((end.counts(), end.token, end.lease_left), (("failed", 2, 1), None, None));
    assert!(end.completed_at > meanwhile.completed_at && end.failure.as_deref() == Some("exhausted"));
}

#[tokio::test]
async fn fn2_a_late_failure_moves_nothing_and_the_owners_success_counts() {
    let c = contest().await;
    assert!(!c.owns(final_failure(&c.a)).await);
    assert_eq!(c.row().await.counts(), ("processing", 1, 0));
    assert!(c.owns(success(&c.b)).await);
    let end = c.row().await;
    assert_eq!(end.counts(), ("delivered", 2, 1));
    assert!(end.completed_at.is_some());
}

#[tokio::test]
async fn fn3_only_the_owners_failure_spends_the_allowance() {
    let c = contest().await;
    assert!(!c.owns(retryable(&c.a)).await);
    assert!(c.owns(retryable(&c.b)).await);
    let end = c.row().await;
    assert_eq!(end.counts(), ("pending", 2, 1));
    assert!(end.is_due_by_the_first_wait(), "{end:?}");
}

#[tokio::test]
async fn fn4_numbers_are_given_in_the_order_of_recording() {
    let c = contest().await;
    assert_eq!(record(&c.session, success(&c.a)).await.number, 1);
    assert_eq!(record(&c.session, success(&c.b)).await.number, 2);
    let history = c.rig.history(&c.a.id).await;
    assert_eq!(history, [(1, "succeeded".into(), true), (2, "succeeded".into(), false)]);
}

#[tokio::test]
async fn fn5_both_at_the_same_instant_get_two_numbers_and_one_owner() {
    for _ in 0..5 {
        let c = contest().await;
        let other = c.rig.session().await;
        let barrier = tokio::sync::Barrier::new(2);
        let at_once = async |session: &Session, row: Row| {
            barrier.wait().await;
            record(session, row).await
        };
        let (a, b) = tokio::join!(at_once(&c.session, success(&c.a)), at_once(&other, success(&c.b)));
        assert_eq!((a.owner, b.owner), (false, true));
        assert_eq!((c.numbers().await, c.row().await.counts()), (vec![1, 2], ("delivered", 2, 1)));
    }
}

#[tokio::test]
async fn fn5b_both_in_one_batch_get_two_numbers_and_one_owner() {
    let c = contest().await;
    let batch = [success(&c.b), final_failure(&c.a)];
    let recorded = store::record(&c.session, PROTOCOL_VERSION, "test", &batch).await.expect("recorded");
    assert_eq!(recorded.iter().filter(|one| one.owner).count(), 1);
    assert_eq!((c.numbers().await, c.row().await.counts()), (vec![1, 2], ("delivered", 2, 1)));
}

#[tokio::test]
async fn fn6_after_a_late_and_a_dead_worker_the_third_delivers() {
    let c = contest().await;
    assert!(!c.owns(success(&c.a)).await);
    let third = reclaimed(&c.rig, &c.session).await;
    assert!(c.owns(success(&third)).await);
    assert_eq!((c.numbers().await, c.row().await.counts()), (vec![1, 2], ("delivered", 2, 1)));
}

#[tokio::test]
async fn fn7_an_ended_lease_that_nobody_took_still_completes() {
    let rig = Rig::new().await;
    let session = rig.session().await;
    let a = rig.one_claimed(&session).await;
    rig.pass(3600.0).await;
    assert!(record(&session, success(&a)).await.owner);
    assert_eq!(rig.delivery(&a.id).await.counts(), ("delivered", 1, 1));
}

#[tokio::test]
async fn fn8_after_delivery_a_late_result_of_any_kind_only_counts() {
    for late in [success, retryable, final_failure] {
        let c = contest().await;
        assert!(c.owns(success(&c.b)).await);
        let before = c.row().await;
        assert!(!c.owns(late(&c.a)).await);
        let after = c.row().await;
        assert_eq!(after.counts(), ("delivered", 2, 1));
        assert_eq!(after.completed_at, before.completed_at);
    }
}

#[tokio::test]
async fn fn9_after_a_replay_a_late_success_only_counts() {
    let c = contest().await;
    assert!(c.owns(final_failure(&c.b)).await);
    replay(&c.rig, &c.a.id).await;
    let before = c.row().await;
    assert!(!c.owns(success(&c.a)).await);
    let after = c.row().await;
    assert_eq!((after.counts(), after.due_at), (("pending", 2, 0), before.due_at));
}

async fn replay(rig: &Rig, id: &str) {
    let session = rig.operator().await;
    hooks_shared::push::deliveries::replay(&session, "tester", id).await.expect("replayed");
}

#[tokio::test]
async fn fn10_after_a_reschedule_a_late_result_only_counts() {
    let c = contest().await;
    assert!(c.owns(retryable(&c.b)).await);
    let before = c.row().await;
    assert!(!c.owns(retryable(&c.a)).await);
    let after = c.row().await;
    assert_eq!((after.counts(), after.due_at), (("pending", 2, 1), before.due_at));
}

#[tokio::test]
async fn fn11_a_worker_that_took_over_from_itself_is_superseded_too() {
    // Both claims of a contest are made over one connection under one worker's name.
    let c = contest().await;
    assert!(!c.owns(success(&c.a)).await);
    assert!(c.owns(success(&c.b)).await);
}

#[tokio::test]
async fn fn12_eight_stale_recorders_and_the_owner_number_1_to_9() {
    let rig = Rig::new().await;
    let session = rig.session().await;
    let mut claims = vec![rig.one_claimed(&session).await];
    for _ in 0..8 {
        claims.push(reclaimed(&rig, &session).await);
    }
    let mut sessions = Vec::new();
    for _ in &claims {
        sessions.push(rig.session().await);
    }
    let barrier = tokio::sync::Barrier::new(claims.len());
    let all = claims.iter().zip(&sessions).map(async |(claim, session)| {
        barrier.wait().await;
        record(session, retryable(claim)).await
    });
    let recorded = futures_util::future::join_all(all).await;
    assert_eq!(recorded.iter().filter(|one| one.owner).count(), 1);
    assert_eq!(rig.numbers(&claims[0].id).await, (1..=9).collect::<Vec<_>>());
    assert_eq!(rig.delivery(&claims[0].id).await.counts(), ("pending", 9, 1));
}

#[tokio::test]
async fn fn13_with_an_allowance_of_one_the_owner_alone_spends_it() {
    let c = contest().await;
    assert!(!c.owns(final_failure(&c.a)).await);
    assert!(c.owns(final_failure(&c.b)).await);
    assert_eq!(c.row().await.counts(), ("failed", 2, 1));
}

#[tokio::test]
async fn fn14_a_wrong_token_never_moves_any_state() {
    for state in ["pending", "processing", "delivered", "failed", "cancelled"] {
        let c = contest().await;
        let operator = c.rig.operator().await;
        match state {
            "pending" => drop(c.owns(retryable(&c.b)).await),
            "delivered" => drop(c.owns(success(&c.b)).await),
            "failed" => drop(c.owns(final_failure(&c.b)).await),
            "cancelled" => {
                c.owns(retryable(&c.b)).await;
                hooks_shared::push::deliveries::cancel(&operator, "tester", &c.a.id)
                    .await
                    .expect("cancelled");
            }
            _ => {}
        }
        let before = c.row().await;
        for make in [success, retryable, final_failure] {
            let stranger = Claimed { token: Uuid::new_v4(), ..c.a.clone() };
            assert!(!c.owns(make(&stranger)).await, "{state}");
        }
        let after = c.row().await;
        assert_eq!(after.state, state);
        let same = |row: &Delivery| (row.cycle, row.token, row.due_at, row.completed_at, row.failure.clone());
        assert_eq!(same(&after), same(&before));
    }
}

#[tokio::test]
async fn recording_the_same_result_again_changes_nothing() {
    let rig = Rig::new().await;
    let session = rig.session().await;
    let a = rig.one_claimed(&session).await;
    assert!(record(&session, success(&a)).await.owner);
    let again = record(&session, success(&a)).await;
    assert!(again.again && again.owner && again.number == 1);
    assert_eq!(
        (rig.numbers(&a.id).await, rig.delivery(&a.id).await.counts()),
        (vec![1], ("delivered", 1, 1))
    );
}

#[tokio::test]
async fn a_result_whose_delivery_is_gone_is_dropped_and_its_neighbours_are_not() {
    let rig = Rig::new().await;
    let session = rig.session().await;
    let a = rig.one_claimed(&session).await;
    let gone = Claimed { id: "dlv_gone".into(), token: Uuid::new_v4(), ..a.clone() };
    let batch = [success(&gone), success(&a)];
    let recorded = store::record(&session, PROTOCOL_VERSION, "test", &batch).await.expect("recorded");
    assert_eq!(recorded.iter().map(|one| one.delivery.as_str()).collect::<Vec<_>>(), [a.id.as_str()]);
    assert_eq!(rig.delivery(&a.id).await.state, "delivered");
}
