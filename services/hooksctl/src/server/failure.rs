//! What a failed request means, in words that name the URL, the reason and the remedy.

use super::{Endpoint, Role};
use crate::commands::{Failed, NotFound, Refused, Unreachable, Usage};
use crate::output::printable;
use reqwest::StatusCode;
use std::time::Duration;

/// Longest part of an answer's body that is repeated to the user.
const LONGEST_REASON: usize = 300;

/// No answer came.
pub fn unreachable(endpoint: &Endpoint, error: &reqwest::Error) -> Unreachable {
    let role = endpoint.role;
    let cause = cause(error);
    let remedy = other_scheme(endpoint.base.scheme(), &cause).unwrap_or("start it, or name another");
    Unreachable(format!(
        "the {} service at {} does not answer: {cause}; {remedy} with {} or {}",
        role.name(),
        endpoint.base,
        role.flag(),
        role.variable()
    ))
}

/// What to do about a cause that most likely is TLS spoken on one side only.
fn other_scheme(scheme: &str, cause: &str) -> Option<&'static str> {
    let (signs, remedy): (&[&str], _) = match scheme {
        "https" => (&["InvalidContentType"], "it does not speak TLS there: give an http:// URL"),
        _ => (
            &["invalid HTTP version", "reset by peer", "closed before message"],
            "if it speaks TLS there, give an https:// URL",
        ),
    };
    signs.iter().any(|sign| cause.contains(sign)).then_some(remedy)
}

/// The innermost reason: the outer ones repeat the URL.
pub fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// An answer that is not the one asked for. Reads its body. `about` is what was asked for, such as "source `demo`".
pub async fn refusal(endpoint: &Endpoint, about: &str, answer: reqwest::Response) -> anyhow::Error {
    let status = answer.status();
    let location = answer
        .headers()
        .get(reqwest::header::LOCATION)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let reason = reason(answer).await;
    let place = format!("the {} service at {}", endpoint.role.name(), endpoint.base);
    let asked = asked_for(endpoint.role);
    match status {
        StatusCode::UNAUTHORIZED => Refused(format!(
            "{place} does not know the token (401 {reason}): it is wrong, expired or revoked; {asked}"
        ))
        .into(),
        StatusCode::FORBIDDEN => {
            Refused(format!("{place} refuses this token for: {about} (403 {reason}); {asked}")).into()
        }
        StatusCode::NOT_FOUND => NotFound(format!("{place} has no {about} (404 {reason})")).into(),
        StatusCode::BAD_REQUEST => Usage(format!("{place} cannot use the request (400): {reason}")).into(),
        StatusCode::CONFLICT | StatusCode::GONE | StatusCode::UNPROCESSABLE_ENTITY => {
            Refused(format!("{place} refuses ({}): {reason}", status.as_u16())).into()
        }
        status if status.is_redirection() => Failed(format!(
            "{place} answers {status} and points to {}; give the final URL with {} or {}",
            location.as_deref().map_or("nowhere".to_owned(), printable),
            endpoint.role.flag(),
            endpoint.role.variable()
        ))
        .into(),
        status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            Unreachable(format!("{place} cannot answer now ({status}): {reason}")).into()
        }
        status => Failed(format!("{place} answers {status}: {reason}")).into(),
    }
}

fn asked_for(role: Role) -> &'static str {
    match role {
        Role::Inspector => {
            "it takes a token with the scope admin: `hooksctl token create --scope admin`, then set HOOKS_TOKEN"
        }
        _ => {
            "it takes a token of kind listener with the source in its scopes: \
             `hooksctl token create --scope SOURCE`, then set HOOKS_TOKEN"
        }
    }
}

/// The message of an error answer: of our JSON form, else the first line.
async fn reason(answer: reqwest::Response) -> String {
    let body = tokio::time::timeout(Duration::from_secs(5), first_bytes(answer)).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&body).into_owned();
    let json = serde_json::from_str::<serde_json::Value>(&text).ok();
    let message = json.as_ref().and_then(|json| match json.get("error")? {
        serde_json::Value::String(text) => Some(text.as_str()),
        error => error.get("message")?.as_str(),
    });
    let shown = message.unwrap_or_else(|| text.lines().next().unwrap_or_default());
    printable(&shown.chars().take(LONGEST_REASON).collect::<String>())
}

async fn first_bytes(mut answer: reqwest::Response) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < 16 * 1024 {
        match answer.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            _ => break,
        }
    }
    body
}
