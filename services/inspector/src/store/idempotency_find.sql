-- What is kept under the key $1.
select request_hash, status, answer from idempotency_keys where key_hash = $1
