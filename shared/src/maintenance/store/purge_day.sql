-- At most 5,000 ended deliveries of events that are gone with their day [$1, $2); of one source, or of all (null).
delete from deliveries
where id = any(array(
    select id from deliveries
    where created_at >= $1 and received_at >= $1 and received_at < $2 and completed_at is not null
        and ($3::text is null or source = $3)
    limit 5000))
