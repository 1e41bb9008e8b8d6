//! A relay with an inspector and a push-worker, and hooksctl with an administrator's token.

use hooks_testkit::process::{Launch, Output, Service, run};
use hooks_testkit::until;
use serde_json::Value;

use crate::support::{PATIENCE, Relay, SECRET};

pub const ADMIN: &str = "hk_admin_of_the_tests_00000000000000000000000";
pub const KEYS: &str = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// All that operators deal with.
pub struct Operators {
    pub relay: Relay,
    pub inspector: Service,
    pub inspector_url: String,
    _worker: Service,
}

impl Operators {
    /// `push` stands under `push:` in `hooks.yaml`, beside what permits loopback.
    pub async fn start(push: &str) -> Self {
        let relay = Relay::configured(&yaml(push)).await;
        relay.make_token(ADMIN, "pat", &["admin"]).await;
        let start = async |binary: &str, role: &str| {
            let (name, value) = relay.db.env_for(role);
            let launch = Launch::service(binary).config(relay.config.path()).env(name, value);
            launch.env("HOOKS_SECRET_KEYS", KEYS).start_ready(PATIENCE).await
        };
        let inspector = start("hooks-inspector", "inspector").await;
        let worker = start("hooks-push-worker", "push_worker").await;
        let inspector_url = inspector.url("").await;
        Self { relay, inspector, inspector_url, _worker: worker }
    }

    /// Runs hooksctl as an administrator, to its end.
    pub async fn run(&self, args: &[&str]) -> Output {
        self.run_with(args, &[]).await
    }

    pub async fn run_with(&self, args: &[&str], more: &[(&str, &str)]) -> Output {
        let config = self.relay.config.path().display().to_string();
        let env = [
            ("HOOKS_INSPECTOR", self.inspector_url.as_str()),
            ("HOOKS_TOKEN", ADMIN),
            ("HOOKS_CONFIG", config.as_str()),
        ];
        run("hooksctl", args, &[&env[..], more].concat(), b"").await
    }

    /// The objects that a command prints with `--json`.
    pub async fn json(&self, args: &[&str]) -> Vec<Value> {
        let output = self.run(&[args, &["--json"]].concat()).await.expect_success();
        output.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// Subscribes a URL from the beginning of the log; the secret.
    pub async fn add(&self, name: &str, url: &str, more: &[&str]) -> String {
        let args = [&["push", "add", "demo", url, "--name", name, "--since", "0"][..], more].concat();
        self.run(&args).await.expect_success().stdout.trim().to_owned()
    }

    /// Waits until a subscription has `count` deliveries in a state, each after some attempts; their ids.
    pub async fn wait_for(&self, name: &str, state: &str, count: usize, attempts: i64) -> Vec<String> {
        until(PATIENCE, &format!("{count} of {name} to be {state}"), async || {
            let all = self.json(&["deliveries", "list", "-s", name]).await;
            let there = all
                .iter()
                .filter(|one| one["state"] == state && one["attempts"].as_i64() >= Some(attempts))
                .map(|one| one["id"].as_str().expect("an id").to_owned());
            let there: Vec<String> = there.collect();
            if there.len() == count { Ok(there) } else { Err(format!("{all:?}")) }
        })
        .await
    }

    /// What `deliveries show` says.
    pub async fn why(&self, id: &str) -> String {
        self.run(&["deliveries", "show", id]).await.expect_success().stdout
    }
}

/// `hooks.yaml` with one source.
pub fn yaml(push: &str) -> String {
    format!(
        "sources:\n  demo:\n    verifier: standard_webhooks\n    secret: {SECRET}\n\
         push:\n  allow_destinations: [loopback]\n{push}"
    )
}
