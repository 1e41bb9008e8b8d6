//! Everything that a client can be told beside success: status, code and words.

use crate::store::StoreError;

/// Codes are part of the API; the words are for people and may change.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Invalid(String),
    #[error("this needs a token or a signed-in person")]
    Unauthorized,
    #[error("invalid email or password")]
    BadCredentials,
    #[error("{0}")]
    Forbidden(&'static str),
    #[error("{0}")]
    Csrf(&'static str),
    #[error("no such {0}")]
    NotFound(&'static str),
    #[error("this method is not one of: {0}")]
    MethodNotAllowed(String),
    #[error("{message}")]
    Conflict { code: &'static str, message: String },
    #[error("{message}")]
    Gone { code: &'static str, message: String },
    #[error("the request body is longer than {0} bytes")]
    TooLarge(usize),
    #[error("the request body could not be read")]
    BrokenBody,
    #[error("the request body did not arrive within {0} s")]
    SlowBody(u64),
    #[error("this host name is not one of `inspector.hosts`")]
    WrongHost,
    #[error("the body must be {0}")]
    MediaType(&'static str),
    #[error("{message}")]
    Unprocessable { code: &'static str, message: String },
    #[error("too many tries; again in {0} s")]
    RateLimited(u64),
    #[error("{0}")]
    BadGateway(String),
    #[error("the database does not answer; try again")]
    Unavailable,
    #[error("something went wrong here; the log knows more under this request id")]
    Internal,
}

impl Error {
    pub fn invalid(message: impl Into<String>) -> Self {
        Error::Invalid(message.into())
    }

    pub fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Error::Conflict { code, message: message.into() }
    }

    pub fn unprocessable(code: &'static str, message: impl Into<String>) -> Self {
        Error::Unprocessable { code, message: message.into() }
    }

    pub fn gone(code: &'static str, message: impl Into<String>) -> Self {
        Error::Gone { code, message: message.into() }
    }

    pub fn status(&self) -> u16 {
        match self {
            Error::Invalid(_) | Error::BrokenBody => 400,
            Error::Unauthorized | Error::BadCredentials => 401,
            Error::Forbidden(_) | Error::Csrf(_) => 403,
            Error::NotFound(_) => 404,
            Error::MethodNotAllowed(_) => 405,
            Error::SlowBody(_) => 408,
            Error::Conflict { .. } => 409,
            Error::Gone { .. } => 410,
            Error::TooLarge(_) => 413,
            Error::MediaType(_) => 415,
            Error::WrongHost => 421,
            Error::Unprocessable { .. } => 422,
            Error::RateLimited(_) => 429,
            Error::Internal => 500,
            Error::BadGateway(_) => 502,
            Error::Unavailable => 503,
        }
    }

    pub fn code(&self) -> &'static str {
        match self {
            Error::Invalid(_) => "invalid",
            Error::BrokenBody => "broken_body",
            Error::SlowBody(_) => "slow_body",
            Error::Unauthorized => "unauthorized",
            Error::BadCredentials => "invalid_credentials",
            Error::Forbidden(_) => "forbidden",
            Error::Csrf(_) => "csrf",
            Error::NotFound(_) => "not_found",
            Error::MethodNotAllowed(_) => "method_not_allowed",
            Error::Conflict { code, .. } | Error::Gone { code, .. } | Error::Unprocessable { code, .. } => {
                code
            }
            Error::TooLarge(_) => "too_large",
            Error::MediaType(_) => "media_type",
            Error::WrongHost => "wrong_host",
            Error::RateLimited(_) => "rate_limited",
            Error::Internal => "internal",
            Error::BadGateway(_) => "bad_gateway",
            Error::Unavailable => "unavailable",
        }
    }
}

impl From<StoreError> for Error {
    /// What the database said goes to the log, never to the client.
    fn from(error: StoreError) -> Self {
        if error.is_passing() {
            log::warn!("the database could not answer: {error}");
            Error::Unavailable
        } else if error.is_bad_value() {
            log::info!("a value cannot be stored: {error}");
            Error::invalid("a value of the request cannot be stored")
        } else {
            log::error!("a statement failed: {error}");
            Error::Internal
        }
    }
}
