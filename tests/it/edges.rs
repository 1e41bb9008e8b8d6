//! Services share the schema and one small crate, and nothing else.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

/// What no service may be built from.
const SHARED: &str = "hooks-shared";
const KIT: &str = "hooks-testkit";

/// The edges between packages of the workspace that must not be, as `from -> to (kind)`.
fn forbidden(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().expect("packages");
    let ours: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut found = Vec::new();
    for package in packages {
        let from = package["name"].as_str().expect("a name");
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let to = dependency["name"].as_str().expect("a name");
            let kind = dependency["kind"].as_str().unwrap_or("normal");
            let allowed = match to {
                // The kit's package also holds the benchmarks, which measure the crate; the kit itself: see below.
                SHARED => true,
                KIT => kind == "dev",
                _ => !ours.contains(&to),
            };
            if !allowed {
                found.push(format!("{from} -> {to} ({kind})"));
            }
        }
    }
    found
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .output()
        .expect("run cargo metadata");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata speaks JSON")
}

#[test]
fn no_service_is_built_from_another() {
    let metadata = metadata();
    assert!(metadata["packages"].as_array().is_some_and(|packages| packages.len() >= 7));
    assert_eq!(forbidden(&metadata), Vec::<String>::new());
}

/// The rule itself, on a workspace that breaks it in every way.
#[test]
fn an_edge_that_must_not_be_is_found() {
    let package = |name: &str, dependencies: &[(&str, Option<&str>)]| {
        let dependencies: Vec<_> =
            dependencies.iter().map(|(name, kind)| json!({"name": name, "kind": kind})).collect();
        json!({"name": name, "dependencies": dependencies})
    };
    let broken = json!({"packages": [
        package(SHARED, &[("tokio", None), (KIT, Some("dev"))]),
        package("hooks-ingest", &[(SHARED, None), (KIT, None)]),
        package("hooks-subscribe", &[(SHARED, None), (KIT, Some("dev")), ("hooks-ingest", Some("dev"))]),
        package("hooksctl", &[("hooks-subscribe", Some("build"))]),
        package(KIT, &[("hooksctl", None)]),
    ]});
    assert_eq!(
        forbidden(&broken),
        [
            "hooks-ingest -> hooks-testkit (normal)",
            "hooks-subscribe -> hooks-ingest (dev)",
            "hooksctl -> hooks-subscribe (build)",
            "hooks-testkit -> hooksctl (normal)",
        ]
    );
}

/// The kit signs and reads with its own code, so that a fault of the product cannot hide itself.
#[test]
fn the_kit_uses_nothing_of_the_product() {
    let mut folders = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the kit").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a file of the kit");
            assert!(!text.contains("hooks_shared::"), "{} uses hooks_shared", path.display());
            files += 1;
        }
    }
    assert!(files > 30, "{files}");
}
