//! `hooksctl signature explain` gives every recorded request its verdict, in words and in JSON.

use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Output, Stdio};

fn vectors() -> Vec<Value> {
    let read = |text: &str| serde_json::from_str::<Vec<Value>>(text).expect("vectors in JSON");
    let mut all = read(include_str!("../../../tests/vectors/signatures.json"));
    all.extend(read(include_str!("../../../tests/vectors/relay.json")));
    all
}

fn explain(record: &Value, options: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hooksctl"))
        .args(["signature", "explain", "-"])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start hooksctl");
    let mut stdin = child.stdin.take().expect("the pipe just asked for");
    stdin.write_all(record.to_string().as_bytes()).expect("hooksctl reads its input");
    drop(stdin);
    child.wait_with_output().expect("hooksctl ends")
}

/// The record alone, without anything that says how to check it.
fn bare(vector: &Value) -> Value {
    json!({
        "method": vector["method"], "url": vector["url"], "headers": vector["headers"],
        "body_base64": vector["body_base64"],
    })
}

fn vector(provider: &str, name: &str) -> Value {
    let found = vectors().into_iter().find(|v| v["provider"] == provider && v["name"] == name);
    found.unwrap_or_else(|| panic!("no vector {provider} / {name}"))
}

#[test]
fn every_recorded_request_gets_its_verdict_and_code() {
    for vector in vectors() {
        let output = explain(&vector, &["--json"]);
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        let verdict = &said["verdict"];
        let also = vector["also_ok"].as_array().cloned().unwrap_or_default();
        assert!(*verdict == vector["expect"] || also.contains(verdict), "{vector}: {said}");
        let code = i32::from(*verdict != "ok" && *verdict != "challenge");
        assert_eq!(output.status.code(), Some(code), "{vector}");
        if *verdict == "challenge" {
            assert_eq!(said["response"]["status"], vector["response"]["status"], "{vector}");
            assert_eq!(said["response"]["body"], vector["response"]["body"], "{vector}");
        }
    }
}

#[test]
fn the_verdict_is_the_first_word_and_the_reason_follows() {
    let mut vector = vector("github", "empty body");
    let output = explain(&vector, &[]);
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("ok\n"));
    let secret = format!("{}\n", vector["secret"].as_str().unwrap());
    vector["secret"] = Value::from(secret);
    let output = explain(&vector, &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("bad_signature\n") && said.contains("line break"), "{said}");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(1), 0));
}

#[test]
fn options_say_what_the_record_does_not() {
    let vector = vector("stripe", "v1 before t");
    let options = ["--verifier", "stripe", "--secret", "whsec_test_secret", "--now", "1492774577"];
    let output = explain(&bare(&vector), &options);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let wrong =
        explain(&bare(&vector), &["--verifier", "stripe", "--secret", "other", "--now", "1492774577"]);
    assert_eq!(wrong.status.code(), Some(1));
    let late = explain(&bare(&vector), &["--verifier", "stripe", "--secret", "whsec_test_secret"]);
    assert!(late.stdout.starts_with(b"stale\n"), "{late:?}");
}

#[test]
fn secrets_and_verifiers_can_be_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    let verifier = folder.path().join("verifier.yaml");
    std::fs::write(&secret, "whsec_test_secret\n").unwrap();
    std::fs::write(&verifier, "verifier: {preset: stripe, timestamp: {max_age: null}}\n").unwrap();
    let at = |path: &std::path::Path| format!("@{}", path.display());
    let options = ["--verifier", &at(&verifier), "--secret", &at(&secret)];
    let output = explain(&bare(&vector("stripe", "v1 before t")), &options);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn wrong_use_is_code_2() {
    let record = bare(&vector("github", "empty body"));
    for options in
        [&[][..], &["--verifier", "nobody"], &["--verifier", "@/nowhere"], &["--secret", "@/nowhere"]]
    {
        assert_eq!(explain(&record, options).status.code(), Some(2), "{options:?}");
    }
    assert_eq!(explain(&json!("no record"), &["--verifier", "github"]).status.code(), Some(2));
    let not_base64 = json!({"headers": [], "body_base64": "%"});
    assert_eq!(explain(&not_base64, &["--verifier", "github"]).status.code(), Some(2));
}
