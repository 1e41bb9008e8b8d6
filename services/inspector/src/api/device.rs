//! Pairing a command line.

use crate::auth::device;
use crate::error::Error;
use crate::http::{Answer, Call};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// Nothing asks for `account`.
    #[serde(default)]
    scopes: Option<Vec<String>>,
    /// Adds `admin`.
    #[serde(default)]
    admin: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Started {
    device_code: String,
    user_code: String,
    verification_uri: String,
    /// With the code filled in.
    verification_uri_complete: String,
    /// Seconds between two polls.
    interval: u32,
    /// Seconds.
    expires_in: u32,
}

pub async fn start(call: Call) -> Result<Answer, Error> {
    let wish: Start = call.json()?;
    let scopes = device::wanted_scopes(&wish.scopes.unwrap_or_default(), wish.admin)?;
    let started = device::start(&call.state, &call.incoming, scopes).await?;
    let uri = format!("{}/device", call.incoming.base_url(&call.state));
    let view = Started {
        verification_uri_complete: format!("{uri}?user_code={}", started.user_code),
        verification_uri: uri,
        device_code: started.device_code,
        user_code: started.user_code,
        interval: device::INTERVAL,
        expires_in: device::EXPIRES_IN,
    };
    Ok(Answer::json(200, &view))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Poll {
    #[serde(default)]
    device_code: String,
}

/// Pending: only `status`, with 202.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct Polled {
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<String>>,
}

pub async fn poll(call: Call) -> Result<Answer, Error> {
    let wish: Poll = call.json()?;
    match device::poll(&call.state, &call.incoming, &wish.device_code).await? {
        device::Poll::Pending => {
            Ok(Answer::json(202, &Polled { status: Some("pending"), ..Polled::default() }))
        }
        device::Poll::Ready { token, person_id, scopes } => {
            let view = Polled {
                status: None,
                token: Some(token.expose().to_owned()),
                user_id: Some(person_id),
                name: Some("device-pairing"),
                scopes: Some(scopes),
            };
            Ok(Answer::json(200, &view))
        }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    #[serde(default)]
    user_code: String,
    /// Of the signed-in person, again.
    #[serde(default)]
    password: String,
    #[serde(default)]
    granted_scopes: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Approved {
    status: &'static str,
}

pub async fn approve(call: Call) -> Result<Answer, Error> {
    let wish: Approve = call.json()?;
    let granted = crate::ops::tokens::clean_scopes(&wish.granted_scopes)?;
    device::approve(&call.state, &call.incoming, &call.who, &wish.user_code, &wish.password, &granted)
        .await?;
    Ok(Answer::json(200, &Approved { status: "approved" }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Deny {
    #[serde(default)]
    user_code: String,
}

pub async fn deny(call: Call) -> Result<Answer, Error> {
    let wish: Deny = call.json()?;
    device::deny(&call.state, &call.incoming, &call.who, &wish.user_code).await?;
    Ok(Answer::no_content())
}
