//! Who may read a source: the bearer of a listener token whose scopes name it.

use super::Service;
use crate::error::Refusal;
use crate::store::{self, Token};
use actix_web::HttpRequest;
use actix_web::http::header::AUTHORIZATION;
use hooks_shared::token::{self, TokenKind};

/// The token of a request that may read `source`.
pub(super) async fn reader_of(
    service: &Service,
    request: &HttpRequest,
    source: &str,
) -> Result<Token, Refusal> {
    let given =
        request.headers().get(AUTHORIZATION).and_then(|value| token::from_authorization(value.as_bytes()));
    let hash = token::hash(given.ok_or(Refusal::Unauthorized)?);
    let found = service.database.run(async move |session| store::find_token(&session, &hash).await).await?;
    let token = found.ok_or(Refusal::Unauthorized)?;
    // The admin scope opens the operators' API, not the events.
    if token.kind != Some(TokenKind::Listener) || !token.scopes.iter().any(|scope| scope == source) {
        return Err(Refusal::Forbidden);
    }
    if !token.noted {
        service.used.note(token.id);
    }
    Ok(token)
}
