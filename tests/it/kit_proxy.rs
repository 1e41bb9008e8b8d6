//! The proxy breaks links where and when it is told to.

use std::net::SocketAddr;
use std::time::Duration;

use hooks_testkit::db::TestDb;
use hooks_testkit::gate::Gate;
use hooks_testkit::http::{RawConnection, request};
use hooks_testkit::pg::{self, Cluster};
use hooks_testkit::proxy::{At, Cut, Proxy};
use hooks_testkit::receiver::Receiver;
use hooks_testkit::until;
use tokio::time::timeout;
use tokio_postgres::Client;

const PATIENCE: Duration = Duration::from_secs(10);
/// Long enough for something to happen that must not.
const A_MOMENT: Duration = Duration::from_millis(50);

/// A table behind a proxy, and a way to look at it without the proxy.
async fn table() -> (TestDb, Proxy, Client) {
    let db = TestDb::empty_on(&Cluster::shared().await).await;
    db.execute("create table t(n int)", &[]).await;
    let proxy = Proxy::to_database(&db.url()).await;
    let client = pg::connect(&proxy.url(&db.url())).await.expect("connect through the proxy");
    (db, proxy, client)
}

async fn rows(db: &TestDb) -> i64 {
    db.query_one("select count(*) from t", &[]).await.get(0)
}

#[tokio::test]
async fn a_commit_cut_before_the_server_sees_it_is_rolled_back() {
    let (db, proxy, client) = table().await;
    let trip = proxy.cut_when(At::commit(), Cut::Before);
    client.batch_execute("begin; insert into t values (1)").await.expect("passes");
    client.batch_execute("commit").await.expect_err("cut");
    assert_eq!(trip.fired(), 1);
    assert_eq!(rows(&db).await, 0);
    let again = pg::connect(&proxy.url(&db.url())).await.expect("connect again");
    again.batch_execute("begin; insert into t values (1)").await.expect("passes");
    again.batch_execute("commit").await.expect("once means once");
    assert_eq!(rows(&db).await, 1);
}

#[tokio::test]
async fn a_commit_cut_after_it_was_forwarded_or_answered_holds_though_the_client_never_hears() {
    for cut in [Cut::AfterForwarding, Cut::AfterAnswer] {
        let (db, proxy, client) = table().await;
        let trip = proxy.cut_when(At::commit(), cut);
        client.batch_execute("begin; insert into t values (1)").await.expect("passes");
        client.batch_execute("commit").await.expect_err("cut");
        until(PATIENCE, "the row", async || rows(&db).await == 1).await;
        assert_eq!(trip.fired(), 1);
        until(PATIENCE, "no connection", async || proxy.connections() == 0).await;
    }
}

#[tokio::test]
async fn a_prepared_commit_inside_a_pipelined_burst_is_found() {
    for (cut, expected) in [(Cut::Before, 0), (Cut::AfterForwarding, 1), (Cut::AfterAnswer, 1)] {
        let (db, proxy, client) = table().await;
        let begin = client.prepare("begin").await.expect("prepare");
        let insert = client.prepare("insert into t values (1)").await.expect("prepare");
        let commit = client.prepare("commit").await.expect("prepare");
        let trip = proxy.cut_when(At::commit(), cut);
        let (begun, _, committed) = tokio::join!(
            client.execute(&begin, &[]),
            client.execute(&insert, &[]),
            client.execute(&commit, &[]),
        );
        committed.expect_err("cut");
        if cut == Cut::AfterAnswer {
            begun.expect("only the answer to the commit is withheld");
        }
        assert_eq!(trip.fired(), 1);
        until(PATIENCE, "the rows", async || {
            let rows = rows(&db).await;
            if rows == expected { Ok(()) } else { Err(rows) }
        })
        .await;
    }
}

#[tokio::test]
async fn a_statement_waits_at_a_gate_until_it_is_opened() {
    let (db, proxy, client) = table().await;
    let gate = Gate::closed();
    let trip = proxy.hold_when(At::sql_with("INSERT INTO t"), gate.clone());
    let inserting = tokio::spawn(async move { client.execute("insert into t values (1)", &[]).await });
    trip.wait(PATIENCE).await;
    until(PATIENCE, "it to stand at the gate", async || gate.waiting() == 1).await;
    assert_eq!(rows(&db).await, 0);
    gate.open();
    inserting.await.expect("no panic").expect("inserted");
    assert_eq!(rows(&db).await, 1);
}

#[tokio::test]
async fn a_black_hole_swallows_silently_and_gives_back() {
    let (_db, proxy, client) = table().await;
    proxy.blackhole().await;
    let question = client.simple_query("select 1");
    tokio::pin!(question);
    assert!(timeout(A_MOMENT, &mut question).await.is_err(), "no answer and no error");
    let mut fresh = RawConnection::connect(proxy.addr()).await;
    assert!(!fresh.closed_within(A_MOMENT).await, "new connections hang");
    proxy.pass().await;
    question.await.expect("what was held back arrives");
}

#[tokio::test]
async fn refusing_leaves_open_connections_and_cutting_resets_them() {
    let (db, proxy, client) = table().await;
    proxy.refuse().await;
    assert!(pg::connect(&proxy.url(&db.url())).await.is_err());
    client.simple_query("select 1").await.expect("open ones live on");
    assert_eq!(proxy.connections(), 1);
    proxy.cut().await;
    assert_eq!(proxy.connections(), 0);
    client.simple_query("select 1").await.expect_err("reset");
    proxy.pass().await;
    pg::connect(&proxy.url(&db.url())).await.expect("passes again");
}

#[tokio::test]
async fn delays_apply_per_piece_and_bytes_can_be_the_moment() {
    let receiver = Receiver::start().await;
    let proxy = Proxy::to(receiver.address()).await;
    let ask = async |path: &str| {
        let mut connection = RawConnection::connect(proxy.addr()).await;
        connection.send(&request("GET", path, &[], b"")).await.expect("send");
        connection.recv().await.map(|answer| answer.status)
    };
    proxy.delay_by(A_MOMENT);
    let start = std::time::Instant::now();
    assert_eq!(ask("/a").await.expect("slow but sure"), 200);
    assert!(start.elapsed() >= A_MOMENT * 2, "one piece each way");
    proxy.no_delay();
    let bad = |bytes: &[u8]| bytes.starts_with(b"GET /bad");
    let trip = proxy.cut_when(At::bytes(bad).nth(2).times(2), Cut::Before);
    let mut seen = Vec::new();
    for path in ["/bad", "/good", "/bad", "/bad", "/bad"] {
        seen.push(ask(path).await.is_ok());
    }
    assert_eq!((seen, trip.fired()), (vec![true, true, false, false, true], 2));
    proxy.cut_when(At::bytes(bad), Cut::AfterAnswer);
    ask("/bad").await.expect_err("the answer is withheld");
    assert_eq!(receiver.requests_to("/bad").len(), 3);
}

#[tokio::test]
async fn urls_are_rewritten_and_targets_change() {
    let (one, two) = (Receiver::start().await, Receiver::start().await);
    let proxy = Proxy::to(one.address()).await;
    let url = proxy.url("postgres://u:p%40@127.0.0.1:5432/db?sslmode=disable");
    assert_eq!(url, format!("postgres://u:p%40@{}/db?sslmode=disable", proxy.addr()));
    let nowhere = SocketAddr::from(([127, 0, 0, 1], hooks_testkit::port::free()));
    for (target, answered) in [(two.address(), true), (nowhere, false)] {
        proxy.retarget(target);
        let mut connection = RawConnection::connect(proxy.addr()).await;
        // A target that refuses may reset the connection before anything is sent.
        let _ = connection.send(&request("GET", "/", &[], b"")).await;
        assert_eq!(connection.recv().await.is_ok(), answered);
    }
    assert_eq!((one.requests().len(), two.requests().len()), (0, 1));
}
