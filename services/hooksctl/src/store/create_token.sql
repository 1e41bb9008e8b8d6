-- Stores a new token by the hash of its text.
insert into tokens (id, name, kind, scopes, secret_hash, expires_at)
values ($1, $2, $3, $4, $5, now() + $6::float8 * interval '1 second')
returning created_at, expires_at
