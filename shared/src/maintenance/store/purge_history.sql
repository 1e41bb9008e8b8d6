-- At most 5,000 deliveries that came to an end longer ago than $1 seconds, with their attempts.
delete from deliveries
where id = any(array(
    select id from deliveries
    where created_at < now() - $1::float8 * interval '1 second'
        and completed_at < now() - $1::float8 * interval '1 second'
    limit 5000))
