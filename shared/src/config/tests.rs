//! The configuration file as a whole.

use super::*;
use crate::verify::{self, Verifier};

const GOOD: &str = "\
database_url: postgres://u:${PW}@db/hooks
skew_window: 10m
retention: 7d
sources:
  render:
    verifier: standard_webhooks
    secrets: [\"${NEW}\", \"${OLD:-old-secret}\"]
    skew_window: 0s
    retention: forever
  own:
    verifier:
      type: hmac
      signature: [\"header:X-Sig\"]
      signed: \"{body}\"
    secret: $${not a variable}
    skew_window: 2m
trusted_proxies: [10.0.0.0/8, \"::1\"]
";

fn env(name: &str) -> Option<String> {
    match name {
        "PW" => Some("p".to_owned()),
        "NEW" => Some("new-secret".to_owned()),
        _ => None,
    }
}

fn read(text: &str, service: Service) -> Result<Config, ConfigError> {
    parse("hooks.yaml", text, Path::new("."), service, &env)
}

fn faults(text: &str, service: Service) -> String {
    read(text, service).expect_err("faults").to_string()
}

#[test]
fn a_good_file_is_read_with_defaults() {
    let config = read(GOOD, Service::Ingest).expect("good");
    assert_eq!(config.database_url.expose(), "postgres://u:p@db/hooks");
    let render = &config.sources["render"];
    assert_eq!(render.secrets, vec![Secret::new("new-secret"), Secret::new("old-secret")]);
    assert_eq!(render.retention, Retention::Forever);
    assert_eq!(config.sources["own"].retention, Retention::For(Duration::from_secs(7 * 86_400)));
    assert_eq!(config.sources["own"].secrets, vec![Secret::new("${not a variable}")]);
    assert_eq!(config.ingest.lanes, 4);
    assert_eq!(config.push.retry.max_attempts(), 10);
    assert_eq!(config.trusted_proxies.len(), 2);
    assert_eq!(config.warnings.len(), 1, "zero is said not to be off");
}

#[test]
fn the_effective_window_falls_back_in_order() {
    let config = read(GOOD, Service::Subscribe).expect("good");
    let (render, own) = (&config.sources["render"], &config.sources["own"]);
    let (two, five, ten) = (Duration::from_secs(120), Duration::from_secs(300), Duration::from_secs(600));
    assert_eq!(effective_skew(own, Some(five)), two, "the source's own");
    assert_eq!(effective_skew(render, Some(five)), five, "zero is not off: the verifier's");
    assert_eq!(effective_skew(render, None), ten, "the top level's");
    let bare = read("database_url: postgres://h/d\nsources:\n  a: {verifier: github}\n", Service::Subscribe);
    assert_eq!(effective_skew(&bare.expect("good").sources["a"], None), DEFAULT_SKEW);
}

/// What ingest enforces is what the first drain of a listener goes by, wherever the window is written.
#[test]
fn one_window_is_enforced_and_filtered_by() {
    let scheme = |keys: &str| {
        format!(
            "{{type: hmac, signature: 'header:X-S', signed: '{{timestamp}}{{body}}', timestamp: {{from: 'header:X-T'{keys}}}}}"
        )
    };
    for (top, own, verifier, seconds) in [
        ("", "", scheme(""), 300),
        ("skew_window: 10m\n", "", scheme(""), 600),
        ("skew_window: 10m\n", "", scheme(", max_age: 60"), 60),
        ("skew_window: 10m\n", ", skew_window: 2m", scheme(", max_age: 60"), 120),
        ("skew_window: 10m\n", ", skew_window: 0s", scheme(""), 600),
        ("skew_window: 10m\n", "", "linear".to_owned(), 300),
        ("skew_window: 10m\n", "", "{preset: linear, timestamp: {max_age: 60}}".to_owned(), 60),
    ] {
        let text = format!(
            "database_url: postgres://h/d\n{top}sources:\n  a: {{verifier: {verifier}, secret: a-secret-of-some-length{own}}}\n"
        );
        let config = read(&text, Service::Ingest).expect("good");
        let source = &config.sources["a"];
        let compiled = Verifier::compile(&source.verification(&config)).expect("compiles");
        assert_eq!(compiled.verifier.summary()[0].max_age, Some(seconds), "enforced: {text}");
        let own = verify::max_age(&source.verifier).expect("a verifier");
        assert_eq!(effective_skew(source, own).as_secs(), seconds as u64, "filtered by: {text}");
    }
}

#[test]
fn services_that_never_verify_need_no_secret() {
    let text = "database_url: postgres://h/d\nsources:\n  a: {verifier: github, secret: \"${GONE}\", verify_token: \"${GONE}\"}\n";
    for service in [Service::Subscribe, Service::PushWorker, Service::Inspector] {
        assert!(read(text, service).expect("no secret needed").sources["a"].secrets.is_empty());
    }
    let said = faults(text, Service::Ingest);
    assert!(
        said.contains("hooks.yaml:3: sources.a.secret: the environment variable GONE is not set"),
        "{said}"
    );
}

#[test]
fn every_fault_is_said_at_once_with_key_and_line() {
    let text = "\
databaseurl: x
sources:
  Bad Name: {verifier: github}
  a:
    verifier: github
    secret: \"\"
    retention: 3 weeks
    body_size_limit: many
  b:
    secret: x
    colour: red
ingest:
  lanes: 0
";
    let said = faults(text, Service::Ingest);
    for expected in [
        "hooks.yaml:1: databaseurl: is not a key that is known here",
        "database_url: is missing",
        "sources.Bad Name: `Bad Name` is not a source name",
        "hooks.yaml:6: sources.a.secret: is empty",
        "hooks.yaml:7: sources.a.retention: `3 weeks` is not a duration",
        "hooks.yaml:8: sources.a.body_size_limit: `many` is not a size",
        "sources.b.verifier: is missing",
        "hooks.yaml:11: sources.b.colour: is not a key that is known here",
        "hooks.yaml:13: ingest.lanes: must be a whole number from 1 to 64",
    ] {
        assert!(said.contains(expected), "expected {expected:?} in:\n{said}");
    }
}

#[test]
fn a_worker_refuses_a_lease_that_an_attempt_outlasts_naming_both_keys() {
    let with = |push: &str| {
        format!("database_url: postgres://h/d\nsources:\n  a: {{verifier: github}}\npush: {push}\n")
    };
    let said = faults(&with("{lease: 30s, attempt_timeout: 30s}"), Service::PushWorker);
    assert!(
        said.contains("push.lease") && said.contains("push.attempt_timeout") && said.contains("push.margin"),
        "{said}"
    );
    let said = faults(&with("{lease: 60s, drain: 61s}"), Service::PushWorker);
    assert!(said.contains("push.drain") && said.contains("push.lease"), "{said}");
    let said = faults(&with("{concurrency: 0}"), Service::PushWorker);
    assert!(said.contains("push.concurrency"), "{said}");
    let said = faults(&with("{retry: {schedule: [5s, soon]}}"), Service::PushWorker);
    assert!(said.contains("push.retry.schedule[1]"), "{said}");
    // Exactly lease = timeout + margin is refused, one second more is not.
    assert!(read(&with("{lease: 40s}"), Service::PushWorker).is_err());
    assert!(read(&with("{lease: 41s}"), Service::PushWorker).is_ok());
}

#[test]
fn the_own_database_variable_wins_over_key_and_common_variable() {
    let text = "database_url: postgres://key/d\nsources:\n  a: {verifier: github}\n";
    let own = |name: &str| match name {
        "HOOKS_INGEST_DATABASE_URL" => Some("postgres://own/d".to_owned()),
        "HOOKS_DATABASE_URL" => Some("postgres://common/d".to_owned()),
        _ => None,
    };
    let url = |text: &str, service| {
        let config = parse("f", text, Path::new("."), service, &own).expect("good");
        config.database_url.expose().to_owned()
    };
    let github = "sources:\n  a: {verifier: github, secret: s}\n";
    assert_eq!(url(&text.replace("github}", "github, secret: s}"), Service::Ingest), "postgres://own/d");
    assert_eq!(url(text, Service::Subscribe), "postgres://key/d");
    assert_eq!(url(github, Service::Subscribe), "postgres://common/d");
}

#[test]
fn secrets_from_files_lose_one_line_end() {
    let folder = std::env::temp_dir().join(format!("hooks-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("secret"), "s3cret\n").expect("a file");
    let text = "database_url: postgres://h/d\nsources:\n  a: {verifier: github, secret_file: secret}\n  b: {verifier: github, secret_file: gone}\n";
    let read = |text: &str| parse("f", text, &folder, Service::Ingest, &env);
    let said = read(text).expect_err("one file is missing").to_string();
    assert!(said.contains("sources.b.secret_file: `gone` cannot be read"), "{said}");
    let good = text.lines().filter(|line| !line.contains("gone")).collect::<Vec<_>>().join("\n");
    assert_eq!(read(&good).expect("good").sources["a"].secrets, vec![Secret::new("s3cret")]);
    let _ = std::fs::remove_dir_all(&folder);
}
