-- The live token whose text hashes to $1.
select id, name, kind, scopes, owner_id, ephemeral, created_at, expires_at, revoked_at, last_used_at
from tokens
where secret_hash = $1 and revoked_at is null and (expires_at is null or expires_at > now())
