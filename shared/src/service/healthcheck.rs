//! A service's own client for its health routes, so that an image needs no other program for it.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(3);
/// More than `/readyz` ever says.
const LONGEST_ANSWER: u64 = 64 << 10;

/// What a health check asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Health {
    /// The process answers. What restarts a container must ask no more: a database that is away is no reason.
    Alive,
    /// It may be sent work.
    Ready,
}

impl Health {
    fn path(self) -> &'static str {
        match self {
            Health::Alive => "/healthz",
            Health::Ready => "/readyz",
        }
    }
}

/// Asks the administration port that was opened as `admin`. The error says what it answered.
pub(super) fn ask(admin: &str, health: Health) -> Result<(), String> {
    let address = reachable(admin)?;
    let answer =
        get(address, health.path()).map_err(|error| format!("{address} does not answer: {error}"))?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split_ascii_whitespace().nth(1).unwrap_or_default();
    if status == "200" { Ok(()) } else { Err(format!("{} {status}: {}", health.path(), body.trim())) }
}

/// The address under which a listener on `admin` is reached from its own machine.
fn reachable(admin: &str) -> Result<SocketAddr, String> {
    let mut address = admin
        .to_socket_addrs()
        .ok()
        .and_then(|mut all| all.next())
        .ok_or_else(|| format!("`{admin}` is not an address and port"))?;
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    Ok(address)
}

fn get(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, LIMIT)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    // In one piece: whoever answers after the first one and closes would reset the rest.
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(LONGEST_ANSWER).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// One answer on a free port.
    fn answering(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let _ = stream.read(&mut [0; 1024]);
            stream.write_all(answer.as_bytes()).expect("an answer");
        });
        address
    }

    #[test]
    fn a_service_that_answers_200_is_well_and_any_other_answer_is_told() {
        assert_eq!(ask(&answering("HTTP/1.1 200 OK\r\n\r\nready\n"), Health::Ready), Ok(()));
        let answer = "HTTP/1.1 503 Service Unavailable\r\n\r\ndatabase: away\n";
        let error = ask(&answering(answer), Health::Ready).expect_err("not ready");
        assert_eq!(error, "/readyz 503: database: away");
    }

    #[test]
    fn a_port_that_nobody_has_opened_is_not_well() {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
        assert!(ask(&free.to_string(), Health::Alive).is_err());
    }

    #[test]
    fn a_listener_on_every_address_is_asked_over_loopback() {
        assert_eq!(reachable("0.0.0.0:9080"), Ok("127.0.0.1:9080".parse().expect("an address")));
        assert_eq!(reachable("[::]:9080"), Ok("[::1]:9080".parse().expect("an address")));
        assert!(reachable("9080").is_err());
    }
}
