//! Everything that a sender can be told, and its status. The body is one plain line, for people.

use crate::body::BodyError;
use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, RETRY_AFTER};
use hooks_shared::verify::Reason;

#[derive(Debug, thiserror::Error)]
pub enum Answer {
    #[error("unknown source")]
    UnknownSource,
    #[error("method not allowed")]
    MethodNotAllowed { allow: String },
    #[error("request body too large: this source takes at most {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("the request body could not be read")]
    BrokenBody,
    #[error("the request body took too long")]
    TooSlow,
    /// The scheme's own status goes with its word.
    #[error("{}", .reason.word())]
    Refused { reason: Reason, status: u16, detail: String },
    #[error("not stored: the database refuses this event")]
    NotStorable,
    #[error("not known to be stored, send it again")]
    Unavailable,
}

impl Answer {
    /// The word under which it is counted.
    pub fn word(&self) -> &'static str {
        match self {
            Answer::UnknownSource => "unknown_source",
            Answer::MethodNotAllowed { .. } => "method_not_allowed",
            Answer::TooLarge { .. } => "too_large",
            Answer::BrokenBody => "broken_body",
            Answer::TooSlow => "too_slow",
            Answer::Refused { reason, .. } => reason.word(),
            Answer::NotStorable => "not_storable",
            Answer::Unavailable => "unavailable",
        }
    }

    /// What the log says beyond the answer: never a value that could be a secret.
    pub fn detail(&self) -> &str {
        match self {
            Answer::Refused { detail, .. } => detail,
            _ => "",
        }
    }

    pub fn response(&self) -> HttpResponse {
        let status = match self {
            Answer::UnknownSource => StatusCode::NOT_FOUND,
            Answer::MethodNotAllowed { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Answer::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Answer::BrokenBody => StatusCode::BAD_REQUEST,
            Answer::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Answer::Refused { status, .. } => {
                StatusCode::from_u16(*status).unwrap_or(StatusCode::UNAUTHORIZED)
            }
            Answer::NotStorable => StatusCode::INTERNAL_SERVER_ERROR,
            Answer::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        };
        let mut response = HttpResponse::build(status);
        response
            .content_type("text/plain; charset=utf-8")
            .insert_header(("X-Content-Type-Options", "nosniff"));
        match self {
            Answer::MethodNotAllowed { allow } => {
                response.insert_header((ALLOW, allow.as_str()));
            }
            Answer::Unavailable => {
                response.insert_header((RETRY_AFTER, "5"));
            }
            Answer::Refused { status: 503, .. } => {
                response.insert_header((RETRY_AFTER, "60"));
            }
            // What is left of the body is not read; the connection cannot be used again.
            Answer::TooLarge { .. } | Answer::BrokenBody | Answer::TooSlow => {
                response.force_close();
            }
            _ => {}
        }
        response.body(format!("{self}\n"))
    }
}

impl From<BodyError> for Answer {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge { limit } => Answer::TooLarge { limit },
            BodyError::Full => Answer::Unavailable,
            BodyError::TooSlow => Answer::TooSlow,
            BodyError::Broken(reason) => {
                log::debug!("a body could not be read: {reason}");
                Answer::BrokenBody
            }
        }
    }
}
