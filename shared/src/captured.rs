//! Secrets that providers hand over in a handshake, as operators have them replaced: by `hooksctl sources renew-secret` and
//! by the inspector.

use crate::db::{Session, Sql};
use crate::sql;
use std::time::Duration;
use time::OffsetDateTime;

/// For how long another handshake is let in: enough to press the button at the provider, and no more, since whoever
/// comes first in that time owns the source.
const RENEWABLE: Duration = Duration::from_secs(600);

const RENEW_SECRET: Sql = sql!("captured/renew_secret.sql");

/// All statements; the services that run them prepare them in a test, as their roles.
pub const STATEMENTS: &[Sql] = &[RENEW_SECRET];

/// Opens the door for another handshake of a source, in the audit by `actor`. Until when it is open; None where no secret
/// was handed over yet, since the first one needs no leave.
pub async fn renew(
    session: &Session,
    actor: &str,
    source: &str,
) -> Result<Option<OffsetDateTime>, tokio_postgres::Error> {
    let row = session.row(RENEW_SECRET, &[&source, &RENEWABLE.as_secs_f64(), &actor]).await?;
    row.map(|row| row.try_get("renewable_until")).transpose()
}
