//! The public routes.

mod auth;
mod events;
mod request_id;
mod stream;

pub use request_id::request_id;

use crate::error::Refusal;
use crate::hub::Hub;
use crate::registry::Registry;
use crate::store::Database;
use crate::watchers::TokenUse;
use actix_web::{HttpResponse, web};
use hooks_shared::Clock;
use hooks_shared::config::SubscribeSettings;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What the routes work with.
#[derive(Debug)]
pub struct Service {
    pub hub: Arc<Hub>,
    pub registry: Registry,
    pub database: Database,
    pub clock: Clock,
    pub settings: SubscribeSettings,
    pub used: TokenUse,
    /// Bodies that are being downloaded; each may be 25 MiB of memory.
    pub downloads: Arc<Semaphore>,
}

/// Adds the routes. Every one of them is for GET alone.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(only_get("/healthz", web::get().to(hooks_shared::admin::healthz)))
        .service(only_get("/subscribe/{source}", web::get().to(stream::subscribe)))
        .service(only_get("/subscribe/{source}/events", web::get().to(events::list)))
        .service(only_get("/subscribe/{source}/events/{sequence}", web::get().to(events::show)))
        .service(only_get("/subscribe/{source}/events/{sequence}/body", web::get().to(events::body)));
}

/// The answer where there is no route.
pub async fn not_found() -> Result<HttpResponse, Refusal> {
    Err(Refusal::NotFound)
}

fn only_get(path: &str, route: actix_web::Route) -> actix_web::Resource {
    web::resource(path).route(route).default_service(web::to(method_not_allowed))
}

async fn method_not_allowed() -> Result<HttpResponse, Refusal> {
    Err(Refusal::MethodNotAllowed)
}

/// The decoded pairs of a query string, in order.
fn query_pairs(request: &actix_web::HttpRequest) -> Vec<(String, String)> {
    web::Query::<Vec<(String, String)>>::from_query(request.query_string())
        .map(web::Query::into_inner)
        .unwrap_or_default()
}
