-- A new invite $1, good for $6 seconds.
insert into invites (id, code_hash, role, scopes, created_by, expires_at)
values ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))
returning created_at, expires_at
