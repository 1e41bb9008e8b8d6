//! A push-worker with a fault, for tests: built on the real library, started as a real process. The fault comes in the
//! variable `FAULT`:
//!
//! * `abort`: the process aborts when it sends a body that contains `poison`.
//! * `panic`: the sender panics on such a body.
//! * `unsent`: names that end in `.slow` never resolve.
//! * `old`: the worker speaks the claim protocol before the present one.
//! * `ahead`, `behind`: its clock is wrong by five minutes.

use clap::Parser;
use futures_util::future::BoxFuture;
use hooks_push_worker::app;
use hooks_push_worker::context::Cut;
use hooks_push_worker::outgoing::Outgoing;
use hooks_push_worker::seams::Seams;
use hooks_push_worker::sender::{Answer, SendError, Sender};
use hooks_shared::Clock;
use hooks_shared::config::Service;
use hooks_shared::push::destination::Resolver;
use hooks_shared::sealed::Keyring;
use hooks_shared::service::{ServiceArgs, announce, begin};
use hooks_shared::shutdown;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use time::OffsetDateTime;
use tokio::time::Instant;

#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    service: ServiceArgs,
}

#[tokio::main]
async fn main() {
    let args = Args::parse().service;
    let config = begin(Service::PushWorker, &args).expect("a configuration").expect("not a check");
    let shutdown = shutdown::on_signals().expect("signals");
    let keyring = Keyring::required(&|name| std::env::var(name).ok()).expect("keys");
    let seams = faulty(Seams::real(&config.push).expect("an HTTP client"));
    let (listen, admin) = (args.listen_address(Service::PushWorker), args.admin_address(Service::PushWorker));
    let running = app::build(config, keyring, &listen, &admin, seams, shutdown).await.expect("starts");
    announce(running.address, running.admin);
    running.finished().await;
}

fn faulty(seams: Seams) -> Seams {
    let fault = std::env::var("FAULT").unwrap_or_default();
    let minutes = time::Duration::minutes(5);
    match fault.as_str() {
        "abort" | "panic" => {
            let sender = Arc::new(Poisonable { inner: seams.sender.clone(), aborts: fault == "abort" });
            Seams { sender, ..seams }
        }
        "unsent" => Seams { resolver: Arc::new(Slow(seams.resolver.clone())), ..seams },
        "old" => Seams { protocol: seams.protocol - 1, ..seams },
        "ahead" => Seams { clock: Clock::fixed(OffsetDateTime::now_utc() + minutes).0, ..seams },
        "behind" => Seams { clock: Clock::fixed(OffsetDateTime::now_utc() - minutes).0, ..seams },
        _ => seams,
    }
}

struct Poisonable {
    inner: Arc<dyn Sender>,
    aborts: bool,
}

impl Sender for Poisonable {
    fn send<'a>(
        &'a self,
        outgoing: Outgoing,
        addresses: Vec<SocketAddr>,
        deadline: Instant,
        cut: &'a Cut,
    ) -> BoxFuture<'a, Result<Answer, SendError>> {
        if outgoing.request.body.windows(6).any(|window| window == b"poison") {
            if self.aborts {
                std::process::abort();
            }
            panic!("poison");
        }
        self.inner.send(outgoing, addresses, deadline, cut)
    }
}

struct Slow(Arc<dyn Resolver>);

impl Resolver for Slow {
    fn lookup(&self, name: &str) -> BoxFuture<'static, Result<Vec<IpAddr>, String>> {
        if name.ends_with(".slow") {
            return Box::pin(std::future::pending());
        }
        self.0.lookup(name)
    }
}
