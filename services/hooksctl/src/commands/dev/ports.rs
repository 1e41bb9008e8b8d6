//! Which ports the services get.

use crate::commands::{Failed, Usage};
use anyhow::Result;
use std::net::{Ipv4Addr, TcpListener};

/// The first port when nothing is said, as the services have it themselves.
pub const DEFAULT_BASE: u16 = 8080;
/// The administration port of a service lies this far above its own.
const ADMIN: u16 = 1000;
/// The services in the order of their ports.
const ORDER: [&str; 4] = ["ingest", "subscribe", "inspector", "push-worker"];

/// A service's two ports; 0 takes a free one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    pub listen: u16,
    pub admin: u16,
}

/// The ports of the service at `index` of [`ORDER`].
fn ports_of(base: u16, index: u16) -> Ports {
    match base {
        0 => Ports { listen: 0, admin: 0 },
        base => Ports { listen: base + index, admin: base + index + ADMIN },
    }
}

/// The ports of a service.
pub fn of(base: u16, service: &str) -> Ports {
    let index = ORDER.iter().position(|known| *known == service).unwrap_or(0);
    ports_of(base, index as u16)
}

/// Says which port is taken, before anything is started.
pub fn check(base: u16) -> Result<()> {
    if base == 0 {
        return Ok(());
    }
    if !(1024..=64_000).contains(&base) {
        return Err(Usage(format!(
            "--ports {base}: choose a number from 1024 to 64000, or 0 for any free ports"
        ))
        .into());
    }
    for service in ORDER {
        let Ports { listen, admin } = of(base, service);
        for port in [listen, admin] {
            if let Err(error) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
                return Err(taken(base, service, port, &error).into());
            }
        }
    }
    Ok(())
}

fn taken(base: u16, service: &str, port: u16, error: &std::io::Error) -> Failed {
    let other = if base == 18080 { 28080 } else { 18080 };
    Failed(format!(
        "port {port}, which is for {service}, cannot be opened: {error}; stop what uses it, or choose other ports \
         with `hooksctl dev --ports {other}` (takes {other}–{} and {}–{}; 0 takes any free ones)",
        other + 3,
        other + ADMIN,
        other + ADMIN + 3
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_follow_the_first_one() {
        assert_eq!(of(8080, "inspector"), Ports { listen: 8082, admin: 9082 });
        assert_eq!(of(0, "push-worker"), Ports { listen: 0, admin: 0 });
    }

    #[test]
    fn a_taken_port_is_named_with_its_service_and_the_way_out() {
        let base = (20_000..60_000).find(|base| check(*base).is_ok()).expect("four free ports");
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, base + 1)).expect("free a moment ago");
        let error = check(base).expect_err("taken").to_string();
        assert!(error.contains(&(base + 1).to_string()) && error.contains("subscribe"), "{error}");
        assert!(error.contains("--ports 18080"), "{error}");
    }
}
