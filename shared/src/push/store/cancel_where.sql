-- The same for at most $4 pending deliveries of one subscription that arrived in [$2, $3).
update deliveries
set state = 'cancelled', completed_at = clock_timestamp()
where id = any(array(
        select id from deliveries
        where subscription_id = $1 and state = 'pending'
            and ($2::timestamptz is null or received_at >= $2)
            and ($3::timestamptz is null or received_at < $3)
        limit $4))
    and state = 'pending'
returning id
