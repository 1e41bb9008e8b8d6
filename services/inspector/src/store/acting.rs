//! Telling the session for whom it acts, for statements that write the audit without knowing of requests.

use super::Result;
use crate::who::{Origin, Who};
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;

const ACT_FOR: Sql = sql!("act_for.sql");
pub(super) const STATEMENTS: &[Sql] = &[ACT_FOR];

pub async fn act_for(db: &Session, who: &Who, origin: &Origin) -> Result<()> {
    let text = |id: Option<uuid::Uuid>| id.map(|id| id.to_string()).unwrap_or_default();
    let person = text(who.person_id());
    let token = text(who.token.as_ref().map(|token| token.id));
    let session = text(who.browser.as_ref().map(|browser| browser.session_id));
    let address = origin.address.map(|address| address.to_string()).unwrap_or_default();
    db.rows(ACT_FOR, &[&person, &token, &session, &address, &origin.request_id]).await?;
    Ok(())
}
