//! The services: who answers, who says in the database that it is alive, and whether all run with the same
//! configuration.

use super::Show;
use super::finding::Finding;
use crate::commands::database::failed;
use crate::options::Global;
use crate::output::latency;
use crate::server::{Endpoint, cause};
use crate::store;
use anyhow::Result;
use hooks_shared::db::Session;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const SERVICES: [&str; 4] = ["ingest", "subscribe", "inspector", "push-worker"];
/// Every process says so each ten seconds.
const ALIVE: f64 = 30.0;

/// `/healthz` of the services that have an address for clients.
pub async fn examine(global: &Global, show: &mut Show<'_>) -> Result<()> {
    for endpoint in [global.ingest()?, global.subscribe()?, global.inspector()?] {
        show(health(&endpoint).await)?;
    }
    Ok(())
}

async fn health(endpoint: &Endpoint) -> Finding {
    let name = endpoint.role.name();
    let started = Instant::now();
    let request = endpoint.open_request(reqwest::Method::GET, endpoint.url(&["healthz"]));
    match request.timeout(Duration::from_secs(10)).send().await {
        Ok(answer) if answer.status().is_success() => {
            Finding::good(name, format!("{} answers in {}", endpoint.base, latency(started.elapsed())))
        }
        Ok(answer) => Finding::bad(
            name,
            format!(
                "{} answers {} to /healthz: is it the {name} service? ({} or {})",
                endpoint.base,
                answer.status(),
                endpoint.role.flag(),
                endpoint.role.variable()
            ),
        ),
        Err(error) => Finding::away(
            name,
            format!(
                "{} does not answer: {} ({} or {} names another)",
                endpoint.base,
                cause(&error),
                endpoint.role.flag(),
                endpoint.role.variable()
            ),
        ),
    }
}

struct Instance {
    service: String,
    version: String,
    config_hash: String,
    silent: f64,
}

/// The rows in which the services say that they are alive.
pub async fn instances(session: &Session, show: &mut Show<'_>) -> Result<()> {
    let rows = session.rows(store::INSTANCES, &[]).await.map_err(failed)?;
    let instance = |row: &tokio_postgres::Row| Instance {
        service: row.get("service"),
        version: row.get("version"),
        config_hash: row.get("config_hash"),
        silent: row.get("silent"),
    };
    let instances: Vec<Instance> = rows.iter().map(instance).collect();
    let alive: Vec<&Instance> = instances.iter().filter(|instance| instance.silent < ALIVE).collect();
    for service in SERVICES {
        show(of_service(service, &instances, &alive))?;
    }
    show(same_config(&alive))
}

fn of_service(service: &'static str, all: &[Instance], alive: &[&Instance]) -> Finding {
    let name = match service {
        "ingest" => "alive: ingest",
        "subscribe" => "alive: subscribe",
        "inspector" => "alive: inspector",
        _ => "alive: push-worker",
    };
    let of = alive.iter().filter(|instance| instance.service == service);
    let versions: Vec<&str> = of.map(|instance| instance.version.as_str()).collect();
    if !versions.is_empty() {
        let distinct: BTreeSet<&str> = versions.iter().copied().collect();
        let list = distinct.into_iter().collect::<Vec<_>>().join(", ");
        return Finding::good(name, format!("{} running, version {list}", versions.len()));
    }
    let silent = all.iter().filter(|instance| instance.service == service).map(|instance| instance.silent);
    match silent.reduce(f64::min) {
        Some(silent) => Finding::warning(
            name,
            format!("none: the last was heard of {silent:.0} s ago; start hooks-{service}"),
        ),
        None => Finding::warning(name, format!("none is running on this database; start hooks-{service}")),
    }
}

fn same_config(alive: &[&Instance]) -> Finding {
    let hashes: BTreeSet<&str> = alive.iter().map(|instance| instance.config_hash.as_str()).collect();
    match hashes.len() {
        0 => Finding::skipped("same config", "no service is running"),
        1 => Finding::good("same config", "all services run with the same hooks.yaml"),
        _ => {
            let pairs: BTreeSet<String> = alive
                .iter()
                .map(|instance| format!("{} {}", instance.service, instance.config_hash))
                .collect();
            let list = pairs.into_iter().collect::<Vec<_>>().join(", ");
            Finding::warning(
                "same config",
                format!(
                    "the services run with different hooks.yaml files ({list}); send them SIGHUP or restart them"
                ),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    fn instance(service: &str, config_hash: &str, silent: f64) -> Instance {
        Instance { service: service.into(), version: "1".into(), config_hash: config_hash.into(), silent }
    }

    #[test]
    fn different_configurations_are_told_with_their_services() {
        let (one, two) = (instance("ingest", "aa", 1.0), instance("subscribe", "bb", 1.0));
        let finding = same_config(&[&one, &two]);
        assert_eq!(finding.state, State::Warning);
        assert!(finding.detail.contains("ingest aa, subscribe bb"), "{}", finding.detail);
        assert_eq!(same_config(&[&one, &one]).state, State::Good);
    }

    #[test]
    fn a_service_that_fell_silent_is_told_from_one_that_never_was() {
        let all = [instance("ingest", "aa", 90.0)];
        assert!(of_service("ingest", &all, &[]).detail.contains("90 s ago"));
        assert!(of_service("inspector", &all, &[]).detail.contains("none is running"));
    }
}
