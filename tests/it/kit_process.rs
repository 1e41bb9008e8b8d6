//! Processes are started clean, watched, signalled, and never left behind.

use std::path::Path;
use std::time::Duration;

use hooks_testkit::process::{Launch, Service, Signal, run};
use hooks_testkit::receiver::{Receiver, Script};
use hooks_testkit::until;

const PATIENCE: Duration = Duration::from_secs(20);

fn shell(script: &str) -> Launch {
    Launch::binary("/bin/sh").args(["-c", script])
}

#[tokio::test]
async fn a_service_is_found_by_its_line_and_ready_when_it_says_so() {
    let admin = Receiver::start().await;
    admin.respond_in_turn("/readyz", [Script::status(503).body("database away"), Script::status(200)]);
    let line = format!("echo 'INFO listening address=127.0.0.1:7 admin={}' >&2; sleep 60", admin.address());
    let service = shell(&line).start_ready(PATIENCE).await;
    assert_eq!(service.url("/x").await, "http://127.0.0.1:7/x");
    assert_eq!(admin.requests_to("/readyz").len(), 2);
    assert!(service.rss_kib() > 0 && service.cpu_seconds() >= 0.0);
}

#[tokio::test]
async fn signals_arrive_and_the_end_is_reported_with_all_output() {
    let service = shell("trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.01; done").start();
    assert_eq!(service.wait_log("up", PATIENCE).await, "up");
    service.signal(Signal::Stop);
    service.signal(Signal::Cont);
    service.signal(Signal::Term);
    let status = service.wait_exit(PATIENCE).await;
    assert_eq!((status.code(), service.stdout().as_str()), (Some(3), "up\nbye"));
}

#[tokio::test]
#[should_panic(expected = "no such line; it has ended: exit status: 1")]
async fn waiting_for_a_dead_process_fails_at_once_with_its_output() {
    shell("echo broken >&2; exit 1").start().wait_log("ready", PATIENCE).await;
}

/// A relay that `hooksctl dev` left in the folder of the sources is none of the tests' business.
#[tokio::test]
async fn a_process_runs_in_a_folder_of_its_own() {
    let script = "[ \"$(pwd -P)\" = \"$(cd \"$HOME\" && pwd -P)\" ]";
    run("/bin/sh", &["-c", script], &[], b"").await.expect_success();
    assert_eq!(shell(script).start().wait_exit(PATIENCE).await.code(), Some(0));
    let own = tempfile::tempdir().expect("make a folder");
    let elsewhere = shell(script).dir(own.path()).start();
    assert_eq!(elsewhere.wait_exit(PATIENCE).await.code(), Some(1));
}

#[tokio::test]
async fn nothing_of_the_machine_leaks_into_a_process() {
    let output = run("/bin/sh", &["-c", "env; cat"], &[("HOOKS_TOKEN", "given")], b"from stdin")
        .await
        .expect_success();
    let names: Vec<_> = output.stdout.lines().filter(|line| line.starts_with("HOOKS_")).collect();
    assert_eq!(names, ["HOOKS_TOKEN=given"]);
    assert!(!output.stdout.contains("CARGO"), "{}", output.stdout);
    assert!(output.stdout.ends_with("from stdin"));
}

#[tokio::test]
async fn nothing_is_left_when_the_test_process_is_killed() {
    let victim = Service::start(&Launch::binary(env!("CARGO_BIN_EXE_kit-victim")));
    let line = victim.wait_log("started ", PATIENCE).await;
    let words: Vec<_> = line.split(' ').collect();
    let [_, pid, data] = words[..] else { panic!("{line}") };
    let process = format!("/proc/{pid}");
    let postmaster = std::fs::read_to_string(format!("{data}/postmaster.pid")).expect("a running server");
    let postmaster = format!("/proc/{}", postmaster.lines().next().expect("a pid"));
    assert!(Path::new(&process).exists() && Path::new(&postmaster).exists());
    victim.signal(Signal::Kill);
    victim.wait_exit(PATIENCE).await;
    until(PATIENCE, "everything it started to be gone", async || {
        let left = [process.as_str(), &postmaster, data].into_iter().filter(|&path| is_left(path));
        let left: Vec<_> = left.map(String::from).collect();
        if left.is_empty() { Ok(()) } else { Err(left) }
    })
    .await;
}

/// A zombie that nobody reaps counts as gone.
fn is_left(path: &str) -> bool {
    let zombie = std::fs::read_to_string(format!("{path}/stat")).is_ok_and(|stat| stat.contains(") Z "));
    Path::new(path).exists() && !zombie
}
