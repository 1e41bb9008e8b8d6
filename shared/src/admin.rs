//! The administration port of every service: `/healthz` (alive), `/readyz` (may be sent work, or why not)
//! and `/metrics` (Prometheus text).

use actix_web::{HttpResponse, web};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

const NOT_CHECKED: &str = "not checked yet";

/// Named conditions, all of which must hold for the service to be ready. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Readiness(Arc<Conditions>);

#[derive(Debug, Default)]
struct Conditions {
    required: Mutex<BTreeMap<&'static str, Option<String>>>,
    notes: Mutex<BTreeMap<&'static str, String>>,
}

impl Readiness {
    /// Starts with these conditions unmet.
    pub fn waiting_for(conditions: &[&'static str]) -> Self {
        let readiness = Self::default();
        for condition in conditions {
            readiness.fail(condition, NOT_CHECKED);
        }
        readiness
    }

    /// The condition holds. Says so in the log when it was said not to.
    pub fn hold(&self, condition: &'static str) {
        let before = self.lock().insert(condition, None);
        if before.flatten().is_some_and(|reason| reason != NOT_CHECKED) {
            log::info!(condition; "ready again");
        }
    }

    /// The condition does not hold, and why. Says so in the log when the reason is new.
    pub fn fail(&self, condition: &'static str, reason: impl Into<String>) {
        let reason = reason.into();
        let before = self.lock().insert(condition, Some(reason.clone()));
        if before.flatten().as_ref() != Some(&reason) && reason != NOT_CHECKED {
            log::warn!(condition, reason; "not ready");
        }
    }

    /// Something people should know that does not keep the service from its work; None takes it back.
    pub fn note(&self, about: &'static str, text: Option<String>) {
        let mut notes = self.0.notes.lock().unwrap_or_else(PoisonError::into_inner);
        match text {
            Some(text) => notes.insert(about, text),
            None => notes.remove(about),
        };
    }

    /// One line per note.
    pub fn notes(&self) -> Vec<String> {
        let notes = self.0.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.iter().map(|(about, text)| format!("{about}: {text}")).collect()
    }

    pub fn is_ready(&self) -> bool {
        self.lock().values().all(Option::is_none)
    }

    /// One line per condition that does not hold.
    pub fn complaints(&self) -> Vec<String> {
        let conditions = self.lock();
        conditions.iter().filter_map(|(name, why)| Some(format!("{name}: {}", why.as_ref()?))).collect()
    }

    /// Every condition and whether it holds.
    fn conditions(&self) -> Vec<(&'static str, bool)> {
        self.lock().iter().map(|(name, why)| (*name, why.is_none())).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<&'static str, Option<String>>> {
        self.0.required.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The metrics of a process, shared between those who count and the page that shows them.
pub type Metrics = Arc<Mutex<Registry>>;

pub fn metrics() -> Metrics {
    Arc::new(Mutex::new(Registry::default()))
}

/// What `/readyz` says, for those who read `/metrics`: 1 where a condition holds, 0 where it does not.
type ReadyGauge = Family<[(&'static str, &'static str); 1], Gauge>;

/// Opens a port, or says in words what to do when that fails. Port 0 takes a free one.
pub fn bind(flag: &str, address: &str) -> Result<(TcpListener, SocketAddr), String> {
    let cannot = |error: std::io::Error| {
        let hint = match error.kind() {
            std::io::ErrorKind::AddrInUse => "another process has this port; stop it or choose another",
            std::io::ErrorKind::PermissionDenied => "this port needs more rights; choose one above 1023",
            _ => "choose an address of this machine, such as 127.0.0.1:8080",
        };
        format!("{flag} {address} cannot be opened: {error}; {hint}")
    };
    let listener = TcpListener::bind(address).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let bound = listener.local_addr().map_err(cannot)?;
    Ok((listener, bound))
}

/// Serves the administration port until the returned handle is told to stop.
pub fn serve(
    listener: TcpListener,
    readiness: Readiness,
    metrics: Metrics,
) -> std::io::Result<actix_web::dev::Server> {
    let ready = ReadyGauge::default();
    metrics.lock().unwrap_or_else(PoisonError::into_inner).register(
        "hooks_ready",
        "1 where a condition of readiness holds, 0 where it keeps the service from its work",
        ready.clone(),
    );
    let server = actix_web::HttpServer::new(move || {
        actix_web::App::new()
            .app_data(web::Data::new(readiness.clone()))
            .app_data(web::Data::new(ready.clone()))
            .app_data(web::Data::new(metrics.clone()))
            .route("/healthz", web::get().to(healthz))
            .route("/readyz", web::get().to(readyz))
            .route("/metrics", web::get().to(show_metrics))
    })
    .workers(1)
    .disable_signals()
    .shutdown_timeout(1)
    .listen(listener)?
    .run();
    Ok(server)
}

/// `GET /healthz`: the process is alive. Never touches the database.
pub async fn healthz() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain; charset=utf-8").body("ok\n")
}

async fn readyz(readiness: web::Data<Readiness>) -> HttpResponse {
    let complaints = readiness.complaints();
    let (mut answer, mut lines) = if complaints.is_empty() {
        (HttpResponse::Ok(), vec!["ready".to_owned()])
    } else {
        (HttpResponse::ServiceUnavailable(), complaints)
    };
    lines.extend(readiness.notes());
    answer.content_type("text/plain; charset=utf-8").body(lines.join("\n") + "\n")
}

async fn show_metrics(
    metrics: web::Data<Metrics>,
    readiness: web::Data<Readiness>,
    ready: web::Data<ReadyGauge>,
) -> HttpResponse {
    for (condition, holds) in readiness.conditions() {
        ready.get_or_create(&[("condition", condition)]).set(i64::from(holds));
    }
    let mut text = String::new();
    let registry = metrics.lock().unwrap_or_else(PoisonError::into_inner);
    match prometheus_client::encoding::text::encode(&mut text, &registry) {
        Ok(()) => HttpResponse::Ok()
            .content_type("application/openmetrics-text; version=1.0.0; charset=utf-8")
            .body(text),
        Err(_) => HttpResponse::InternalServerError().finish(),
    }
}
