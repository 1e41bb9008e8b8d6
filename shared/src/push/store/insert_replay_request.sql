insert into replay_requests (number, source, sequence, received_at, requested_by) values ($1, $2, $3, $4, $5)
