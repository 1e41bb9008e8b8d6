-- A pending delivery is not to be sent, under its subscription's cursor row's lock.
update deliveries
set state = 'cancelled', completed_at = clock_timestamp()
where id = $1 and state = 'pending'
returning id
