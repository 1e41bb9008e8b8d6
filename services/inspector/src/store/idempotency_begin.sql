-- Claims the key $1 for the request $2. A claim that has no answer after a minute is of a process that died, and one
-- older than a day has had its time.
insert into idempotency_keys as kept (key_hash, request_hash) values ($1, $2)
on conflict (key_hash) do update
set request_hash = excluded.request_hash, status = null, answer = null, created_at = now()
where kept.status is null and kept.created_at < now() - interval '1 minute'
    or kept.created_at < now() - interval '1 day'
