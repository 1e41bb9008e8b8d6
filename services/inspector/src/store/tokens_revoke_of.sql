-- Revokes all tokens of the person $1.
update tokens set revoked_at = now() where owner_id = $1 and revoked_at is null
