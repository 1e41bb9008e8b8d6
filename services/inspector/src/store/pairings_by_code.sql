-- The pairing that shows the code $1.
select id, state, expires_at <= now() as expired, requested_scopes, granted_scopes, person_id, created_at, address,
    user_agent
from pairings where user_code = $1
