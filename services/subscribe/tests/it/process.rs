//! The real process: its command line, its signals, its ends.

use crate::support::{NewEvent, PATIENCE, Writer, mint, sequences};
use hooks_testkit::config::ConfigFile;
use hooks_testkit::db::TestDb;
use hooks_testkit::http;
use hooks_testkit::process::{self, Launch, Service, Signal};
use hooks_testkit::sse::{End, Stream};
use hooks_testkit::until;
use std::time::{Duration, Instant};

const YAML: &str = "sources:\n  render: {verifier: render, secret: \"${NOT_SET_HERE}\"}\n";

async fn start(db: &TestDb, config: &ConfigFile) -> Service {
    let (variable, url) = db.env_for("subscribe");
    Launch::service("hooks-subscribe").config(config.path()).env(variable, url).start_ready(PATIENCE).await
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_cuts_the_streams_at_once_and_ends_the_process() {
    let db = TestDb::create().await;
    let token = mint(&db, "listener", &["render"]).await;
    let writer = Writer::new(&db).await;
    writer.append_quietly(&NewEvent::fresh()).await;
    // The provider's secret is neither needed nor looked for.
    let config = ConfigFile::write(YAML);
    let service = start(&db, &config).await;
    let mut stream = Stream::open(service.address().await, "/subscribe/render", &token).await;
    assert_eq!(sequences(&mut stream, 1).await, [1]);
    let began = Instant::now();
    service.signal(Signal::Term);
    assert_eq!(stream.to_end(PATIENCE).await.1, End::Cut);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(service.wait_exit(PATIENCE).await.success());
    assert!(!service.logs().contains(&token));
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_takes_the_changed_sources_and_keeps_the_old_ones_when_they_are_bad() {
    let db = TestDb::create().await;
    let token = mint(&db, "listener", &["render", "github"]).await;
    let config = ConfigFile::write(YAML);
    let service = start(&db, &config).await;
    let address = service.address().await;
    config.rewrite("sources: {}\n");
    service.signal(Signal::Hup);
    service.wait_log("the configuration stays as it was", PATIENCE).await;
    // What `doctor` compares.
    let hash = "select coalesce(max(config_hash), '') from service_instances";
    let told = async || db.query_one(hash, &[]).await.get::<_, String>(0);
    until(PATIENCE, "the instance", async || if told().await.is_empty() { Err("none") } else { Ok(()) })
        .await;
    let before = told().await;
    config.rewrite(&format!("{YAML}  github: {{verifier: github, secret: x}}\n"));
    service.signal(Signal::Hup);
    let bearer = format!("Bearer {token}");
    until(PATIENCE, "the new source", async || {
        let answer = http::get(address, "/subscribe/github/events", &[("Authorization", &bearer)]).await;
        if answer.status == 200 { Ok(()) } else { Err(answer.text()) }
    })
    .await;
    until(PATIENCE, "the new hash", async || if told().await == before { Err(()) } else { Ok(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_start_says_why_and_what_to_do() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let config = ConfigFile::write(YAML);
    let path = config.path().display().to_string();
    let url = ("HOOKS_DATABASE_URL", "postgres://nobody@127.0.0.1:1/none");
    let run = async |args: &[&str], env: &[(&str, &str)]| {
        let output = process::run("hooks-subscribe", args, env, b"").await;
        (output.code(), output.stderr + &output.stdout)
    };
    let (code, said) = run(&["--config", &path, "--listen", &address], &[url]).await;
    assert!(
        code == 1 && said.contains("--listen") && said.contains("another process has this port"),
        "{said}"
    );
    let (code, said) = run(&["--config", &path], &[]).await;
    assert!(code == 1 && said.contains("HOOKS_SUBSCRIBE_DATABASE_URL"), "{said}");
    let bad = ("HOOKS_DATABASE_URL", "not a url");
    let (code, said) = run(&["--config", &path], &[bad]).await;
    assert!(code == 1 && said.contains("postgres://"), "{said}");
    let (code, said) = run(&["--config", &path, "--check-config"], &[url]).await;
    assert!(code == 0 && said.contains("ok, 1 sources"), "{said}");
    let unknown = ConfigFile::write("sources:\n  x: {verifier: no_such_preset, secret: y}\n");
    let (code, said) = run(&["--config", &unknown.path().display().to_string()], &[url]).await;
    assert!(code == 1 && said.contains("sources.x.verifier") && said.contains("no_such_preset"), "{said}");
    let (code, said) = run(&["--version"], &[]).await;
    assert!(code == 0 && said.starts_with("hooks-subscribe "), "{said}");
}
