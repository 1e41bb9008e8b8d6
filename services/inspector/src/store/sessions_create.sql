-- A new session $1 of the person $2, for $4 seconds.
insert into sessions (id, person_id, secret_hash, expires_at, address, user_agent)
values ($1, $2, $3, now() + make_interval(secs => $4), $5, $6)
