-- The live sessions of the person $1, the last used first.
select id, created_at, last_used_at, expires_at, address, user_agent
from sessions where person_id = $1 and expires_at > now()
order by last_used_at desc limit 200
