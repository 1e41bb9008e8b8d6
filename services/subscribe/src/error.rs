//! Why a request is refused, and the one place where that becomes a status and a line of text.

use crate::cursor::CursorError;
use crate::query::QueryError;
use crate::store::StoreError;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpResponse, ResponseError};

/// A refusal. Its text is the body of the answer: existing clients print it.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("unknown source")]
    UnknownSource,
    #[error("unauthorized")]
    Unauthorized,
    #[error("forbidden")]
    Forbidden,
    #[error("invalid cursor: {0}")]
    InvalidCursor(#[from] CursorError),
    #[error("invalid query: {0}")]
    InvalidQuery(#[from] QueryError),
    #[error("unknown event")]
    UnknownEvent,
    #[error("not found")]
    NotFound,
    #[error("method not allowed")]
    MethodNotAllowed,
    #[error("the database cannot be reached, try again")]
    Unavailable(#[from] StoreError),
    #[error("stopping, try again")]
    Stopping,
    #[error("too many connections, try again")]
    Exhausted,
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        match self {
            Refusal::UnknownSource | Refusal::UnknownEvent | Refusal::NotFound => StatusCode::NOT_FOUND,
            Refusal::Unauthorized => StatusCode::UNAUTHORIZED,
            Refusal::Forbidden => StatusCode::FORBIDDEN,
            Refusal::InvalidCursor(_) | Refusal::InvalidQuery(_) => StatusCode::BAD_REQUEST,
            Refusal::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Refusal::Unavailable(_) | Refusal::Stopping | Refusal::Exhausted => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    fn error_response(&self) -> HttpResponse {
        let mut answer = HttpResponse::build(self.status_code());
        answer.content_type("text/plain; charset=utf-8");
        answer.insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
        match self {
            Refusal::Unauthorized => answer.insert_header((header::WWW_AUTHENTICATE, "Bearer")),
            Refusal::MethodNotAllowed => answer.insert_header((header::ALLOW, "GET")),
            Refusal::Unavailable(_) | Refusal::Stopping | Refusal::Exhausted => {
                answer.insert_header((header::RETRY_AFTER, HeaderValue::from_static("2")))
            }
            _ => &mut answer,
        };
        answer.body(format!("{self}\n"))
    }
}
