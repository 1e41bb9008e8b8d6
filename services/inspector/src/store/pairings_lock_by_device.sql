-- The pairing whose device code hashes to $1, locked: one caller fetches the token.
select id, state, expires_at <= now() as expired, requested_scopes, granted_scopes, person_id, created_at, address,
    user_agent
from pairings where device_hash = $1 for update
