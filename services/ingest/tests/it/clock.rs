//! Clocks that jump, and logs that were emptied.

use crate::stage::{Stage, hub, sequence};

#[tokio::test]
async fn an_arrival_time_a_day_ahead_stops_nothing_and_time_never_goes_back() {
    let stage = Stage::start().await;
    assert_eq!(stage.store("one").await, 1);
    // As if the server's clock had been a day ahead when the newest event came.
    let client = stage.db.client().await;
    client
        .batch_execute(
            "update events set received_at = received_at + interval '1 day';
             update event_days set day = day + 1;
             update source_heads set last_received_at = last_received_at + interval '1 day' where source = 'plain'",
        )
        .await
        .expect("move the clock");
    for (number, id) in ["two", "three"].into_iter().enumerate() {
        assert_eq!(stage.store(id).await, number as i64 + 2);
    }
    let again = stage.post("plain", &crate::stage::plain("one", b"{}"), b"{}").await;
    assert_eq!((again.status, sequence(&again)), (200, 1), "repeats are found ahead of the clock, too");
    let repeat = stage.post("plain", &crate::stage::plain("three", b"{}"), b"{}").await;
    assert_eq!((repeat.status, sequence(&repeat)), (200, 3));
    let sorted = "select bool_and(ok) from (select received_at >= lag(received_at, 1, received_at)
        over (order by sequence) as ok from events where source = 'plain') e";
    assert!(stage.db.query_one(sorted, &[]).await.get::<_, bool>(0));
    // A source beside it keeps the right time, also in the same batches.
    assert_eq!(sequence(&stage.post("hub", &hub("d", b"1"), b"1").await), 1);
    let now = "select abs(extract(epoch from received_at - now())) < 600 from events where source = 'hub'";
    assert!(stage.db.query_one(now, &[]).await.get::<_, bool>(0));
    let days =
        stage.db.query("select source, day::text, first_sequence, last_sequence from event_days", &[]).await;
    assert_eq!(days.len(), 2, "one open day a source");
    assert!(days.iter().all(|row| row.get::<_, Option<i64>>(3).is_none()));
}

#[tokio::test]
async fn a_new_day_closes_the_one_before() {
    let stage = Stage::start().await;
    for id in ["one", "two"] {
        stage.store(id).await;
    }
    let client = stage.db.client().await;
    client
        .batch_execute(
            "update events set received_at = received_at - interval '1 day';
             update event_days set day = day - 1;
             update source_heads set last_received_at = last_received_at - interval '1 day' where source = 'plain'",
        )
        .await
        .expect("move the clock");
    assert_eq!(stage.store("three").await, 3);
    let days = stage
        .db
        .query(
            "select first_sequence, last_sequence from event_days where source = 'plain' order by day",
            &[],
        )
        .await;
    let days: Vec<(i64, Option<i64>)> = days.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(days, [(1, Some(2)), (3, None)]);
}

#[tokio::test]
async fn numbers_go_on_after_everything_was_pruned() {
    let stage = Stage::start().await;
    for id in ["one", "two", "three"] {
        stage.store(id).await;
    }
    stage.db.client().await.batch_execute("truncate events; delete from event_days").await.expect("prune");
    assert_eq!(
        stage.store("one").await,
        4,
        "what was pruned is not known any more, its number is never reused"
    );
    assert_eq!(stage.store("four").await, 5);
}
