//! Why an operator's action was not done.

use crate::db::describe;
use serde::Serialize;

/// Something wrong with what was given, by field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldFault {
    pub field: String,
    pub message: String,
}

impl FieldFault {
    pub fn new(field: &str, message: impl Into<String>) -> Self {
        Self { field: field.to_owned(), message: message.into() }
    }
}

/// Why an operator's action was not done. Nothing of it was, then.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    #[error("no push subscription {0}")]
    NoSubscription(String),
    #[error("no delivery {0}")]
    NoDelivery(String),
    #[error("no event {source_name}/{sequence}, or it has expired")]
    NoEvent { source_name: String, sequence: i64 },
    #[error("no source {0}")]
    NoSource(String),
    #[error("the name is taken by another push subscription")]
    NameTaken,
    /// Only a failed delivery can be replayed.
    #[error("the delivery is {state}; only a failed one can be replayed")]
    NotReplayable { state: String },
    /// Only a pending delivery can be cancelled.
    #[error("the delivery is {state}; only a pending one can be cancelled")]
    NotCancellable { state: String },
    #[error("the delivery is under way at this moment")]
    UnderWay,
    #[error("the delivery's event is no longer in the log")]
    EventExpired,
    #[error("{}", faults.iter().map(|f| format!("{}: {}", f.field, f.message)).collect::<Vec<_>>().join("; "))]
    Invalid { faults: Vec<FieldFault> },
    #[error("the present secret cannot be read: {0}")]
    Sealed(#[from] crate::sealed::OpenError),
    #[error("{}", describe(.0))]
    Database(#[from] tokio_postgres::Error),
}

impl OperatorError {
    /// The word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            OperatorError::NoSubscription(_) => "push_subscription_not_found",
            OperatorError::NoDelivery(_) => "delivery_not_found",
            OperatorError::NoEvent { .. } => "event_not_found",
            OperatorError::NoSource(_) => "unknown_source",
            OperatorError::NameTaken => "name_taken",
            OperatorError::NotReplayable { .. } => "delivery_not_replayable",
            OperatorError::NotCancellable { .. } => "delivery_not_cancellable",
            OperatorError::UnderWay => "delivery_under_way",
            OperatorError::EventExpired => "event_expired",
            OperatorError::Invalid { .. } => "invalid_request",
            OperatorError::Sealed(_) => "secret_unreadable",
            OperatorError::Database(_) => "database",
        }
    }
}
