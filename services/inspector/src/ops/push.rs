//! The operators' actions on push, as the shared crate has them, in the name of the caller.

use crate::error::Error;
use crate::http::Call;
use crate::store::{Lent, StoreError, acting};
use hooks_shared::push::OperatorError;
use hooks_shared::push::subscriptions::Desk;

/// A session that acts for the caller: the audit rows of shared statements carry who, by what, and from where.
pub async fn acting(call: &Call) -> Result<Lent, Error> {
    let db = call.session().await?;
    acting::act_for(&db, &call.who, &call.incoming.origin).await?;
    Ok(db)
}

/// What sealing and checking destinations needs.
pub fn desk(call: &Call) -> Result<Desk, Error> {
    let keyring = call.state.keyring.clone().ok_or_else(|| {
        Error::unprocessable(
            "no_secret_keys",
            "the inspector has no HOOKS_SECRET_KEYS: signing secrets cannot be sealed",
        )
    })?;
    Ok(Desk {
        actor: call.who.label(),
        keyring,
        policy: call.state.policy.clone(),
        resolver: call.state.resolver.clone(),
    })
}

impl From<OperatorError> for Error {
    fn from(error: OperatorError) -> Self {
        let (code, message) = (error.code(), error.to_string());
        match error {
            OperatorError::NoSubscription(_) => Error::NotFound("push subscription"),
            OperatorError::NoDelivery(_) => Error::NotFound("delivery"),
            OperatorError::NoEvent { .. } => Error::NotFound("event"),
            OperatorError::NoSource(_) | OperatorError::Invalid { .. } => {
                Error::Unprocessable { code, message }
            }
            OperatorError::NameTaken
            | OperatorError::NotReplayable { .. }
            | OperatorError::NotCancellable { .. }
            | OperatorError::UnderWay
            | OperatorError::EventExpired
            | OperatorError::Sealed(_) => Error::Conflict { code, message },
            OperatorError::Database(error) => StoreError::Query(error).into(),
        }
    }
}
