-- The token whose text hashes to $1, and why it no longer counts, if so.
select id, name, kind, scopes, owner_id, ephemeral, created_at, expires_at, revoked_at, last_used_at,
    case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' end as ended
from tokens
where secret_hash = $1
