-- The token $1, ended or not.
select id, name, kind, scopes, owner_id, ephemeral, created_at, expires_at, revoked_at, last_used_at
from tokens where id = $1
