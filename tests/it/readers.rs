//! No committed event is ever skipped by a reader: several ingests whose commits take their time at random, several
//! sources, readers that follow all along. What each of them has read must be the table.

use std::net::SocketAddr;
use std::time::Duration;

use hooks_testkit::config::ConfigFile;
use hooks_testkit::db::TestDb;
use hooks_testkit::load::{Load, Sent, assert_accounts_agree, assert_gapless};
use hooks_testkit::pg::{Cluster, Options, StopMode};
use hooks_testkit::process::Service;
use hooks_testkit::proxy::Proxy;
use hooks_testkit::sse::{Item, Next, Stream};
use hooks_testkit::until;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::relay::{FEEDS, PATIENCE, SOURCES, TOKEN, listen, make_token, start};

/// Follows one source from its beginning until it has seen the number that it is told at the end.
struct Reader {
    source: &'static str,
    following: JoinHandle<Vec<i64>>,
}

impl Reader {
    async fn start(subscribe: SocketAddr, source: &'static str, end: watch::Receiver<bool>) -> Self {
        let stream = listen(subscribe, source, 0).await;
        Self { source, following: tokio::spawn(follow(stream, subscribe, source, end)) }
    }
}

/// Reads until nothing has come for a while after `end` is true. A stream that was cut is opened again behind what
/// was read; on each connection numbers must rise.
async fn follow(
    mut stream: Stream,
    subscribe: SocketAddr,
    source: &str,
    end: watch::Receiver<bool>,
) -> Vec<i64> {
    let mut seen = Vec::new();
    loop {
        // Longer than any poll and keepalive: whoever is silent for so long has nothing more to say.
        match stream.try_next(Duration::from_secs(3)).await {
            Next::Item(Item::Message(message)) => {
                let number = message.sequence();
                assert!(seen.last().is_none_or(|last| *last < number), "{source}: {number} after {seen:?}");
                seen.push(number);
            }
            Next::Item(Item::Comment(_))
                if *end.borrow() && keepalives_only(&mut stream, &mut seen).await =>
            {
                return seen;
            }
            Next::Item(Item::Comment(_)) | Next::Nothing => {}
            Next::End(_) => {
                let cursor = seen.last().copied().unwrap_or(0);
                let bearer = format!("Bearer {TOKEN}");
                let path = format!("/subscribe/{source}?since={cursor}");
                stream = until(PATIENCE, "the stream to be open again", async || {
                    Stream::connect(subscribe, &path, &[("Authorization", &bearer)])
                        .await
                        .map_err(|answer| answer.status)
                })
                .await;
            }
        }
    }
}

/// True if the next five items are keepalives, each of which comes with another look at the log.
async fn keepalives_only(stream: &mut Stream, seen: &mut Vec<i64>) -> bool {
    for _ in 0..5 {
        match stream.try_next(PATIENCE).await {
            Next::Item(Item::Comment(_)) => {}
            Next::Item(Item::Message(message)) => {
                seen.push(message.sequence());
                return false;
            }
            _ => return false,
        }
    }
    true
}

/// Three ingests behind slow links, two subscribes, and two readers of each source at each of them.
struct Stage {
    db: TestDb,
    _config: ConfigFile,
    _links: Vec<Proxy>,
    _services: Vec<Service>,
    readers: Vec<Reader>,
    end: watch::Sender<bool>,
    load: Load,
}

impl Stage {
    /// `listen_url`: what the subscribes are told for LISTEN.
    async fn start(db: TestDb, listen_url: &str) -> Self {
        make_token(&db).await;
        let config = ConfigFile::write(&format!(
            "listen_database_url: '{listen_url}'\ningest: {{lanes: 2, commit_deadline: 2s}}\n{SOURCES}"
        ));
        let url = db.url_for("ingest");
        let (mut links, mut services, mut ingests) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..3 {
            let link = Proxy::to_database(&url).await;
            let service = start("ingest", &config, &link.url(&url)).await;
            link.delay_between(Duration::ZERO, Duration::from_millis(25));
            ingests.push(service.address().await);
            links.push(link);
            services.push(service);
        }
        let end = watch::Sender::new(false);
        let mut readers = Vec::new();
        for _ in 0..2 {
            let service = start("subscribe", &config, &db.url_for("subscribe")).await;
            let address = service.address().await;
            services.push(service);
            for (source, _) in FEEDS {
                for _ in 0..2 {
                    readers.push(Reader::start(address, source, end.subscribe()).await);
                }
            }
        }
        let load = Load::start(&ingests, 24, &FEEDS);
        Self { db, _config: config, _links: links, _services: services, readers, end, load }
    }

    /// Ends the load and compares what everybody has read with the table, and the table with what was accepted.
    async fn settle(self) -> usize {
        let Self { db, readers, end, load, _services, _links, .. } = self;
        let sent: Vec<Sent> = load.end().await;
        end.send_replace(true);
        assert_gapless(&db).await;
        let accepted = assert_accounts_agree(&db, &sent).await;
        for Reader { source, following } in readers {
            let seen = following.await.expect("a reader does not panic");
            let rows =
                db.query("select sequence from events where source = $1 order by sequence", &[&source]).await;
            let table: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
            assert_eq!(seen, table, "{source}");
        }
        accepted
    }
}

#[tokio::test]
async fn readers_miss_nothing_while_commits_overtake_each_other() {
    let db = TestDb::create().await;
    let url = db.url_for("subscribe");
    let stage = Stage::start(db, &url).await;
    stage.load.goes_on(1500).await;
    assert!(stage.settle().await >= 1500);
}

#[tokio::test]
async fn readers_miss_nothing_without_notifications() {
    let db = TestDb::create().await;
    let stage = Stage::start(db, "off").await;
    stage.load.goes_on(800).await;
    assert!(stage.settle().await >= 800);
}

#[tokio::test]
async fn readers_miss_nothing_while_the_listening_connection_is_cut_again_and_again() {
    let db = TestDb::create().await;
    let url = db.url_for("subscribe");
    let listening = Proxy::to_database(&url).await;
    let through = listening.url(&url);
    let stage = Stage::start(db, &through).await;
    for round in 1..=8 {
        stage.load.goes_on(100).await;
        // Both are there again, so that each cut is one.
        until(PATIENCE, "LISTEN to be in place", async || listening.connections() >= 2).await;
        listening.cut().await;
        until(PATIENCE, "LISTEN to be set up anew", async || listening.accepted() >= 2 * (round + 1)).await;
    }
    assert!(stage.settle().await >= 800);
}

#[tokio::test]
async fn readers_miss_nothing_across_restarts_of_the_server() {
    let cluster = Cluster::start(Options::default()).await;
    let db = TestDb::on(&cluster).await;
    let url = db.url_for("subscribe");
    let stage = Stage::start(db, &url).await;
    for mode in [StopMode::Fast, StopMode::Immediate] {
        stage.load.goes_on(250).await;
        cluster.stop(mode).await;
        stage.load.fails(24).await;
        cluster.start_again().await;
    }
    stage.load.goes_on(250).await;
    assert!(stage.settle().await >= 750);
}
