//! Who is let in, what is refused, and with which words.

use crate::support::{NewEvent, PATIENCE, Relay, Setup, listen_with, mint, sequences};
use hooks_testkit::http::{Body, RawConnection, exchange, request};
use hooks_testkit::until;

#[tokio::test(flavor = "multi_thread")]
async fn only_a_listener_token_with_the_source_in_its_scopes_listens() {
    let relay = Setup { sources: &["render", "github"], ..Setup::default() }.start().await;
    let db = &relay.db;
    let both = mint(db, "listener", &["render", "github"]).await;
    let other = mint(db, "listener", &["github"]).await;
    let admin = mint(db, "listener", &["admin"]).await;
    let pat = mint(db, "pat", &["render"]).await;
    let revoked = mint(db, "listener", &["render"]).await;
    let expired = mint(db, "listener", &["render"]).await;
    for (token, change) in [(&revoked, "revoked_at = now()"), (&expired, "expires_at = now()")] {
        let update = format!("update tokens set {change} where secret_hash = $1");
        db.execute(&update, &[&hooks_shared::token::hash(token)]).await;
    }
    let cases = [
        (Some(both.as_str()), None),
        (None, Some((401, "unauthorized\n"))),
        (Some("hk_garbage"), Some((401, "unauthorized\n"))),
        (Some(""), Some((401, "unauthorized\n"))),
        (Some(&revoked), Some((401, "unauthorized\n"))),
        (Some(&expired), Some((401, "unauthorized\n"))),
        (Some(&other), Some((403, "forbidden\n"))),
        (Some(&admin), Some((403, "forbidden\n"))),
        (Some(&pat), Some((403, "forbidden\n"))),
    ];
    relay.writer.append_quietly(&NewEvent::fresh()).await;
    for (token, refused) in cases {
        for path in
            ["/subscribe/render/events", "/subscribe/render/events/1", "/subscribe/render/events/1/body"]
        {
            let answer = relay.get_as(path, token).await;
            match refused {
                Some(refused) => {
                    assert_eq!((answer.status, answer.text().as_str()), refused, "{path} {token:?}")
                }
                None => assert_eq!(answer.status, 200, "{path}: {}", answer.text()),
            }
        }
        let bearer = format!("Bearer {}", token.unwrap_or_default());
        let headers: &[_] = if token.is_some() { &[("Authorization", &*bearer)] } else { &[] };
        let stream =
            hooks_testkit::sse::Stream::connect(relay.running.address, "/subscribe/render", headers).await;
        match (stream, refused) {
            (Ok(_), None) => {}
            (Err(answer), Some(refused)) => {
                assert_eq!((answer.status, answer.text().as_str()), refused);
                assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
                assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
            }
            (stream, refused) => panic!("{token:?}: {refused:?}, got {stream:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_larger_cursor_counts_and_a_bad_one_is_refused_after_the_token() {
    let relay = Relay::start().await;
    for _ in 0..5 {
        relay.writer.append_quietly(&NewEvent::fresh()).await;
    }
    let good = [
        ("/subscribe/render", "", 1),
        ("/subscribe/render?since=", "", 1),
        ("/subscribe/render?since=2", "", 3),
        ("/subscribe/render?since=2", "4", 5),
        ("/subscribe/render?since=3", "1", 4),
        ("/subscribe/render?since=3", "-9", 4),
        ("/subscribe/render?other=x&since=1", "", 2),
    ];
    for (path, last, first) in good {
        let mut stream = listen_with(&relay, path, &[("Last-Event-ID", last)]).await.expect("a stream");
        assert_eq!(sequences(&mut stream, 1).await, [first], "{path} {last}");
    }
    let bad = [
        (
            "/subscribe/render?since=x",
            "",
            "invalid cursor: since: `x` is neither a sequence number nor `latest`\n",
        ),
        (
            "/subscribe/render?since=-1",
            "",
            "invalid cursor: since: `-1` is neither a sequence number nor `latest`\n",
        ),
        ("/subscribe/render?since=1", "x", "invalid cursor: Last-Event-ID: `x` is not a sequence number\n"),
    ];
    for (path, last, text) in bad {
        let answer = listen_with(&relay, path, &[("Last-Event-ID", last)]).await.expect_err("refused");
        assert_eq!((answer.status, answer.text().as_str()), (400, text));
        assert_eq!(relay.get_as(path, None).await.status, 401);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_other_method_is_405_also_for_strangers() {
    let relay = Relay::start().await;
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        for path in ["/subscribe/render", "/subscribe/nowhere", "/subscribe/render/events/1/body"] {
            let answer = exchange(relay.running.address, &request(method, path, &[], b"")).await;
            assert_eq!((answer.status, answer.text().as_str()), (405, "method not allowed\n"), "{method}");
            assert_eq!(answer.header("allow"), Some("GET"));
        }
    }
    let mut connection = RawConnection::connect(relay.running.address).await;
    connection.send(&request("HEAD", "/subscribe/render", &[], b"")).await.expect("send");
    let answer = connection.recv_within(PATIENCE, Body::None).await.expect("an answer");
    assert_eq!((answer.status, answer.header("allow")), (405, Some("GET")));
    let answer = relay.get("/nowhere").await;
    assert_eq!((answer.status, answer.text().as_str()), (404, "not found\n"));
    assert_eq!(relay.get("/healthz").await.text(), "ok\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_id_is_echoed_or_made() {
    let relay = Relay::start().await;
    let get = request("GET", "/subscribe/nowhere", &[("X-Request-Id", "mine-1")], b"");
    assert_eq!(exchange(relay.running.address, &get).await.header("x-request-id"), Some("mine-1"));
    let made = relay.get("/healthz").await;
    assert!(made.header("x-request-id").is_some_and(|id| id.starts_with("req_") && id.len() == 30));
    let get = request("GET", "/healthz", &[("X-Request-Id", "two words")], b"");
    let made = exchange(relay.running.address, &get).await;
    assert!(made.header("x-request-id").is_some_and(|id| id.starts_with("req_")), "{made:?}");
    let stream = relay.listen("/subscribe/render").await;
    assert!(stream.head().header("x-request-id").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_relays_own_source_is_known() {
    let relay = Setup { sources: &["render"], ..Setup::default() }.start().await;
    let token = mint(&relay.db, "listener", &["hooks.system"]).await;
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", &*bearer)];
    let stream =
        hooks_testkit::sse::Stream::connect(relay.running.address, "/subscribe/hooks.system", &headers).await;
    let mut stream = stream.expect("a stream");
    let event = NewEvent { source: "hooks.system", ..NewEvent::fresh() };
    relay.writer.append(&event).await;
    assert_eq!(sequences(&mut stream, 1).await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_listens_is_told_in_the_table_and_the_use_of_tokens_is_noted() {
    let relay = Relay::start().await;
    relay.writer.append_quietly(&NewEvent::fresh()).await;
    let mut stream = relay.listen("/subscribe/render").await;
    sequences(&mut stream, 1).await;
    until(PATIENCE, "the listener's row", async || {
        let rows = relay
            .db
            .query("select source, cursor, t.last_used_at is not null from listeners l join tokens t on t.id = l.token_id", &[])
            .await;
        let seen: Vec<(String, i64, bool)> = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
        if seen == [("render".to_owned(), 1, true)] { Ok(()) } else { Err(seen) }
    })
    .await;
    let Relay { db, running, .. } = relay;
    running.stop().await;
    let left: i64 = db.query_one("select count(*) from listeners", &[]).await.get(0);
    assert_eq!(left, 0);
    let alive: i64 = db.query_one("select count(*) from service_instances", &[]).await.get(0);
    assert_eq!(alive, 0);
}
