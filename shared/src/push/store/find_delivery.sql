-- Where a delivery belongs.
select subscription_id, source, sequence, received_at, state from deliveries where id = $1
