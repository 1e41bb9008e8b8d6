-- A command line asks for the scopes $4 and waits $5 seconds.
insert into pairings (id, device_hash, user_code, requested_scopes, expires_at, address, user_agent)
values ($1, $2, $3, $4, now() + make_interval(secs => $5), $6, $7)
