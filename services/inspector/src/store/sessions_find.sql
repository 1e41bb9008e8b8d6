-- The live session $1.
select person_id, secret_hash, extract(epoch from now() - last_used_at)::float8 as idle_seconds
from sessions where id = $1 and expires_at > now()
