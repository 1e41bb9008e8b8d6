-- The request with the key $1 was answered.
update idempotency_keys set status = $2, answer = $3 where key_hash = $1
