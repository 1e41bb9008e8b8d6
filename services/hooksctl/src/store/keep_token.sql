-- Stores the token that `dev` keeps in its folder, or brings the stored one's scopes up to date.
insert into tokens (id, name, kind, scopes, secret_hash)
values ($1, $2, $3, $4, $5)
on conflict (secret_hash) do update set scopes = excluded.scopes, revoked_at = null
