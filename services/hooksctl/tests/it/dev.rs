//! `dev`: from an empty folder to a running relay, and everything that can happen to it.

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::assert_says;
use hooks_testkit::db::TestDb;
use hooks_testkit::pg::Cluster;
use hooks_testkit::process::{Launch, Output, Service, Signal, binary};
use hooks_testkit::receiver::Receiver;
use hooks_testkit::until;
use tempfile::TempDir;

/// A first start makes a database and starts four services.
const START: Duration = Duration::from_secs(90);
const PATIENCE: Duration = Duration::from_secs(30);
const RUNNING: &str = "The relay is running";

/// A project's folder; the data that `dev` as root keeps elsewhere goes with it.
struct Project(TempDir);

impl Project {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("make a folder"))
    }

    fn launch(&self, args: &[&str]) -> Launch {
        Launch::binary("hooksctl").args(args.iter().copied()).dir(self.0.path())
    }

    fn dev(&self) -> Service {
        self.launch(&["dev", "--ports", "0"]).start()
    }

    async fn run(&self, args: &[&str]) -> Output {
        let service = self.launch(args).start();
        let status = service.wait_exit(PATIENCE).await;
        Output { status, stdout: service.stdout(), stderr: service.logs() }
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.0.path().join(name)).ok()
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        // What a test that failed has left running: a dev that was killed takes nothing along.
        let hooks = self.0.path().join(".hooks");
        for file in ["processes", "pg/postmaster.pid"] {
            let text = std::fs::read_to_string(hooks.join(file)).unwrap_or_default();
            let lines = if file == "processes" { text.lines().count() } else { 1 };
            for pid in text.lines().take(lines).filter_map(|line| line.split(' ').next()?.parse().ok()) {
                kill(pid);
            }
        }
        // As root the data is a link's target, outside the folder.
        if let Ok(data) = std::fs::read_link(self.0.path().join(".hooks/pg"))
            && let Some(base) = data.parent().filter(|base| base.starts_with("/var/lib/hooks-dev"))
        {
            let _ = std::fs::remove_dir_all(base);
        }
    }
}

/// The process id in a line such as `ingest started (process 17)`.
fn pid_of(dev: &Service, service: &str) -> Option<u32> {
    let needle = format!("{service} started (process ");
    let logs = dev.logs();
    let line = logs.lines().rfind(|line| line.contains(&needle))?;
    line.split_once(&needle)?.1.trim_end_matches(')').parse().ok()
}

fn is_alive(pid: u32) -> bool {
    // A zombie still has its folder, but no program.
    std::fs::read_link(format!("/proc/{pid}/exe")).is_ok()
}

async fn stop(dev: Service) {
    dev.signal(Signal::Int);
    let status = dev.wait_exit(PATIENCE).await;
    assert_eq!(status.code(), Some(0), "{}", dev.logs());
}

#[tokio::test]
async fn an_empty_folder_becomes_a_running_relay_and_stops_cleanly() {
    let project = Project::new();
    let dev = project.dev();
    dev.wait_log(RUNNING, START).await;
    dev.wait_log("send demo", PATIENCE).await;
    let logs = dev.logs();
    for secret in ["passwords", "demo_secret", "secret_keys", "tokens"] {
        let text = project.read(&format!(".hooks/{secret}")).expect(secret);
        for word in text.split_whitespace().filter(|word| word.len() > 20) {
            assert!(!logs.contains(word), "{secret} shows in the output");
        }
    }
    // The other commands find services, token and database by themselves.
    let sent = project.run(&["send", "demo"]).await.expect_success();
    assert!(sent.stdout.contains("seq=1"), "{}", sent.stdout);
    let tail = project.run(&["tail", "demo", "-n", "1"]).await.expect_success();
    assert!(tail.stdout.contains("demo seq=1"), "{}", tail.stdout);
    project.run(&["verify"]).await.expect_success();
    the_cursor_is_kept_in_the_folder(&project).await;
    // Its keys are those in the folder.
    assert_says(&project.run(&["secrets", "reencrypt"]).await, 0, &["0 encrypted anew"]);
    tokens_through_the_inspector(&project).await;

    let second = project.run(&["dev", "--ports", "0"]).await;
    assert_eq!(second.code(), 4, "{second:?}");
    assert!(second.stderr.contains("another `hooksctl dev` runs in this folder"), "{}", second.stderr);

    let services: Vec<u32> =
        ["ingest", "subscribe", "inspector", "push-worker"].iter().filter_map(|s| pid_of(&dev, s)).collect();
    assert_eq!(services.len(), 4);
    stop(dev).await;
    assert!(services.iter().all(|pid| !is_alive(*pid)));

    // The data stays, and so do tokens.
    let dev = project.dev();
    dev.wait_log(RUNNING, START).await;
    let list = project.run(&["events", "list", "demo", "--json"]).await.expect_success();
    assert_eq!(list.stdout.lines().count(), 1);
    stop(dev).await;
}

/// Another folder's relay has the same address and other events.
async fn the_cursor_is_kept_in_the_folder(project: &Project) {
    let receiver = Receiver::start().await;
    let forward = project.launch(&["forward", "demo", "--to", &receiver.url("/")]).start();
    receiver.wait_for(1, PATIENCE).await;
    let kept = async || project.read(".hooks/cursor-demo").ok_or("there is none");
    let moved = async || kept().await.and_then(|text| if text == "1\n" { Ok(()) } else { Err("elsewhere") });
    until(PATIENCE, "the cursor", moved).await;
    forward.signal(Signal::Int);
    assert_eq!(forward.wait_exit(PATIENCE).await.code(), Some(130));
}

/// Without HOOKS_DATABASE_URL tokens are made by the inspector, as whom `.hooks/tokens` says.
async fn tokens_through_the_inspector(project: &Project) {
    let made = ["token", "create", "--scope", "demo", "--name", "guest", "--expires-in", "1h", "--json"];
    let made = project.run(&made).await.expect_success();
    let made: serde_json::Value = serde_json::from_str(made.stdout.trim()).expect("JSON");
    assert!(made["plaintext"].as_str().is_some_and(|token| token.starts_with("hk_")), "{made}");
    let id = made["id"].as_str().expect("an id").to_owned();
    let list = project.run(&["token", "list"]).await.expect_success();
    let guest = list.stdout.lines().find(|line| line.contains("guest")).expect("in the list").to_owned();
    assert!(guest.contains(&id) && guest.contains("ends 20"), "{guest}");
    project.run(&["token", "revoke", &id]).await.expect_success();
    let list = project.run(&["token", "list"]).await.expect_success();
    assert!(!list.stdout.contains("guest"), "{}", list.stdout);
    let sources = project.run(&["sources", "list", "--json"]).await.expect_success();
    assert!(sources.stdout.contains("\"demo\""), "{}", sources.stdout);
    // What is made for a source that is not there is made, with a word about it.
    for made in [
        &["invite", "create", "--scope", "demo,dmeo"][..],
        &["token", "create", "--name", "t", "--scope", "dmeo"],
    ] {
        let made = project.run(made).await.expect_success();
        assert!(made.stderr.contains("no source named dmeo;"), "{}", made.stderr);
    }
}

#[tokio::test]
async fn a_crashed_service_comes_back_where_it_was() {
    let project = Project::new();
    let dev = project.dev();
    dev.wait_log(RUNNING, START).await;
    let before = project.read(".hooks/urls").expect("the addresses");
    let pid = pid_of(&dev, "ingest").expect("a process");
    kill(pid);
    dev.wait_log("ingest ended (signal: 9", PATIENCE).await;
    until(PATIENCE, "another ingest", async || pid_of(&dev, "ingest").is_some_and(|now| now != pid)).await;
    until(PATIENCE, "ingest to take events", async || {
        let sent = project.run(&["send", "demo"]).await;
        if sent.status.success() { Ok(()) } else { Err(sent.stderr) }
    })
    .await;
    assert_eq!(project.read(".hooks/urls").expect("the addresses"), before);
    stop(dev).await;
}

#[tokio::test]
async fn after_a_kill_9_the_next_dev_takes_over_the_database_and_stops_the_orphans() {
    let project = Project::new();
    let dev = project.dev();
    dev.wait_log(RUNNING, START).await;
    project.run(&["send", "demo"]).await.expect_success();
    let orphans: Vec<u32> =
        ["ingest", "subscribe", "inspector", "push-worker"].iter().filter_map(|s| pid_of(&dev, s)).collect();
    dev.signal(Signal::Kill);
    dev.wait_exit(PATIENCE).await;
    assert!(orphans.iter().all(|pid| is_alive(*pid)), "services outlive a killed dev");

    let next = project.dev();
    next.wait_log("took over PostgreSQL", START).await;
    next.wait_log(RUNNING, START).await;
    assert!(orphans.iter().all(|pid| !is_alive(*pid)), "{}", next.logs());
    let list = project.run(&["events", "list", "demo", "--json"]).await.expect_success();
    assert_eq!(list.stdout.lines().count(), 1);
    stop(next).await;
    let data = project.0.path().join(".hooks/pg");
    assert!(!data.join("postmaster.pid").exists(), "the database that was taken over is stopped too");
}

#[tokio::test]
async fn a_changed_configuration_is_taken_and_a_faulty_one_is_told() {
    let project = Project::new();
    let dev = project.dev();
    dev.wait_log(RUNNING, START).await;
    let path = project.0.path().join("hooks.yaml");
    let first = project.read("hooks.yaml").expect("written by dev");
    std::fs::write(&path, format!("{first}\nnonsense: 1\n")).expect("write");
    dev.wait_log("nonsense", PATIENCE).await;
    let more = "\n  more:\n    verifier: github\n    secret: a-secret-of-the-tests\n";
    std::fs::write(&path, format!("{first}{more}")).expect("write");
    dev.wait_log("has changed", PATIENCE).await;
    until(PATIENCE, "the new source to take events", async || {
        let sent = project.run(&["send", "more"]).await;
        if sent.status.success() { Ok(()) } else { Err(sent.stderr) }
    })
    .await;
    project.run(&["tail", "more", "-n", "1"]).await.expect_success();
    stop(dev).await;
}

#[tokio::test]
async fn no_postgresql_a_taken_port_and_a_faulty_configuration_are_told_before_anything_starts() {
    let project = Project::new();
    let none = project.launch(&["dev", "--ports", "0"]).env("HOOKS_PG_BINDIR", "/nowhere").start();
    assert_eq!(none.wait_exit(PATIENCE).await.code(), Some(1));
    let said = none.logs();
    assert!(
        said.contains("is not installed") && said.contains("install") && said.contains("HOOKS_DATABASE_URL"),
        "{said}"
    );

    let (base, _taken) = taken_port();
    let port = base + 1;
    let output = project.run(&["dev", "--ports", &base.to_string()]).await;
    assert_eq!(output.code(), 1, "{output:?}");
    assert!(
        output.stderr.contains(&port.to_string()) && output.stderr.contains("--ports"),
        "{}",
        output.stderr
    );

    std::fs::write(project.0.path().join("hooks.yaml"), "sources:\n  a: {verifier: nosuch, secret: x}\n")
        .expect("write");
    let output = project.run(&["dev", "--ports", "0"]).await;
    assert_eq!(output.code(), 1, "{output:?}");
    assert!(output.stderr.contains("sources.a"), "{}", output.stderr);
    assert!(!output.stderr.contains("started (process"), "{}", output.stderr);
}

#[tokio::test]
async fn a_database_that_is_there_is_used_and_left_running() {
    let project = Project::new();
    let db = TestDb::empty_on(&Cluster::shared().await).await;
    let dev = project.launch(&["dev", "--ports", "0"]).env("HOOKS_DATABASE_URL", db.url()).start();
    dev.wait_log(RUNNING, START).await;
    project.run(&["send", "demo"]).await.expect_success();
    let row = db.query_one("select count(*) from events where source = 'demo'", &[]).await;
    assert_eq!(row.get::<_, i64>(0), 1);
    assert!(!project.0.path().join(".hooks/pg").exists());
    stop(dev).await;
    db.query_one("select count(*) from events", &[]).await;
}

#[tokio::test]
async fn missing_programs_are_named_with_the_command_that_builds_them() {
    let (project, elsewhere) = (Project::new(), tempfile::tempdir().expect("a folder"));
    let alone: PathBuf = elsewhere.path().join("hooksctl");
    std::fs::copy(binary("hooksctl"), &alone).expect("copy hooksctl");
    let output = tokio::process::Command::new(alone).arg("dev").current_dir(project.0.path()).output().await;
    let output = output.expect("run it");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("hooks-ingest") && said.contains("cargo build"), "{said}");
}

fn kill(pid: u32) {
    let _ = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
}

/// Four ports in a row of which the second is taken.
fn taken_port() -> (u16, TcpListener) {
    for _ in 0..100 {
        let base = hooks_testkit::port::free();
        let bind = |port: u16| TcpListener::bind(("127.0.0.1", port));
        if let (Ok(_), Ok(taken)) = (bind(base), bind(base + 1)) {
            return (base, taken);
        }
    }
    panic!("no two free ports in a row");
}
