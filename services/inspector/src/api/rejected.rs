//! Refused requests of a source, and what the doctor found. For administrators: a request that was refused may hold
//! anything.

use crate::error::Error;
use crate::http::{Answer, Call};
use crate::moment::Moment;
use crate::store;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
pub struct Rejected {
    pub id: i64,
    pub at: Moment,
    pub verdict: String,
    /// What was answered.
    pub status: i32,
    /// Was the cause proved, rather than suspected?
    pub certain: bool,
    /// The first is the most telling.
    pub reasons: Vec<String>,
    pub method: String,
    pub body_bytes: i64,
}

impl From<store::rejected::Rejected> for Rejected {
    fn from(one: store::rejected::Rejected) -> Self {
        Self {
            id: one.id,
            at: Moment(one.at),
            verdict: one.verdict,
            status: one.status,
            certain: one.certain,
            reasons: one.reasons,
            method: one.method,
            body_bytes: one.body_bytes,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct RejectedList {
    pub rejected: Vec<Rejected>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct RejectedDetail {
    #[serde(flatten)]
    pub rejected: Rejected,
    /// Path and query; credentials in it are masked.
    pub target: String,
    /// In order, repeats kept; credentials are masked.
    pub headers: Vec<(String, String)>,
    pub remote_addr: Option<String>,
    /// The first 64 KiB.
    pub body_base64: String,
}

pub async fn list(call: Call) -> Result<Answer, Error> {
    let db = call.session().await?;
    let rejected = store::rejected::list(&db, call.param("source")).await?;
    Ok(Answer::json(200, &RejectedList { rejected: rejected.into_iter().map(Rejected::from).collect() }))
}

/// One of them; `latest` is the newest.
pub async fn show(call: Call) -> Result<Answer, Error> {
    let id = match call.param("id") {
        "latest" => None,
        text => Some(text.parse().map_err(|_| Error::NotFound("refused request"))?),
    };
    let db = call.session().await?;
    let (schemes, source) = (&call.state.schemes, call.param("source"));
    let found = store::rejected::show(&db, source, id).await?;
    let (rejected, request) = found.ok_or_else(|| Error::NotFound(missing(&call, source)))?;
    Ok(Answer::json(
        200,
        &RejectedDetail {
            rejected: rejected.into(),
            target: schemes.shown_target(source, &request.target),
            headers: request.headers.iter().map(|header| schemes.shown(source, header)).collect(),
            remote_addr: request.remote_addr,
            body_base64: STANDARD.encode(&request.body),
        },
    ))
}

/// What there is none of.
fn missing(call: &Call, source: &str) -> &'static str {
    if !call.state.knows_source(source) {
        "source"
    } else if call.state.keeps_rejected(source) {
        "refused request"
    } else {
        "refused request: none of this source are kept, because of `record_rejected: false` in hooks.yaml"
    }
}
