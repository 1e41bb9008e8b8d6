-- The request with the key $1 failed and may be sent again.
delete from idempotency_keys where key_hash = $1 and status is null
