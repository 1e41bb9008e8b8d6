//! Invite codes, as the inspector and `hooksctl admin init` make them: 16 characters of base 32 (80 random bits),
//! shown once and stored as their SHA-256.

use crate::Secret;
use crate::db::{Session, Sql};
use rand::RngCore;
use sha2::{Digest, Sha256};
use std::time::Duration;
use time::OffsetDateTime;
use uuid::Uuid;

/// The longest that an invite is good.
pub const LONGEST_LIFE: Duration = Duration::from_secs(90 * 86_400);

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// A new code, in groups of four.
pub fn mint() -> Secret {
    let mut bytes = [0u8; 16];
    rand::rng().fill_bytes(&mut bytes);
    let letters: Vec<u8> = bytes.iter().map(|byte| ALPHABET[usize::from(byte & 31)]).collect();
    let groups: Vec<&str> = letters.chunks(4).filter_map(|group| std::str::from_utf8(group).ok()).collect();
    Secret::new(groups.join("-"))
}

/// What is stored of a code. Case and dashes do not count.
pub fn hash(code: &str) -> Vec<u8> {
    let letters: String = code.chars().filter(char::is_ascii_alphanumeric).collect();
    Sha256::digest(letters.to_ascii_uppercase().as_bytes()).to_vec()
}

const BOOTSTRAP: Sql = Sql {
    name: "bootstrap_invite",
    // Of two at once the second waits for the first, then ends its invite: one code is good.
    text: "with locked as (select pg_advisory_xact_lock(7523094288207667561)), \
           old as (update invites set expires_at = least(expires_at, now()) \
                   where bootstrap and consumed_at is null and (select count(*) from locked) = 1), \
           made as (insert into invites (id, code_hash, role, bootstrap, expires_at) \
                    select $1, $2, 'admin', true, now() + interval '24 hours' \
                    from locked where not exists (select from people where deactivated_at is null) \
                    returning id, expires_at), \
           told as (insert into audit (actor, action, subject, details) \
                    select 'hooksctl', 'invite.create', 'invite:' || id, '{\"role\": \"admin\", \"bootstrap\": true}' \
                    from made) \
           select expires_at from made",
};

/// The first administrator's invite.
#[derive(Debug)]
pub struct Bootstrap {
    pub code: Secret,
    pub expires_at: OffsetDateTime,
}

/// Makes the invite by which the first administrator comes, good for a day; an earlier one that nobody used ends. None
/// where there is somebody already: they can invite. `hooksctl admin init` prints `<inspector>/signup?code=<code>`.
pub async fn bootstrap(session: &Session) -> Result<Option<Bootstrap>, tokio_postgres::Error> {
    let code = mint();
    let row = session.row(BOOTSTRAP, &[&Uuid::new_v4(), &hash(code.expose())]).await?;
    row.map(|row| Ok(Bootstrap { code, expires_at: row.try_get("expires_at")? })).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_same_however_it_is_typed() {
        let code = mint();
        assert_eq!(code.expose().len(), 19);
        let typed = code.expose().to_lowercase().replace('-', " ");
        assert_eq!(hash(&typed), hash(code.expose()));
        assert_ne!(code, mint());
    }
}
