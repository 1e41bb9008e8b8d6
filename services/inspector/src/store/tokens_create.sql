-- A new token $1, living $8 seconds (null: until it is revoked).
insert into tokens (id, name, kind, scopes, secret_hash, owner_id, ephemeral, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(secs => $8))
returning id, name, kind, scopes, owner_id, ephemeral, created_at, expires_at, revoked_at, last_used_at
