-- Deletes at most $4 of a source's oldest events in [$2, $3), under the cursor rows' locks: not those that push still
-- needs. How many went is read by the caller, who asks again until none is left. Short, so that nothing waits long.
delete from events
where source = $1 and received_at >= $2 and received_at < $3
    and sequence = any(array(
        select e.sequence from events e
        where e.source = $1 and e.received_at >= $2 and e.received_at < $3
            and e.sequence <= coalesce(
                (select min(c.cursor) from subscription_cursors c where c.source = $1 and c.state <> 'deleted'),
                e.sequence)
            and not exists (
                select from deliveries d
                where d.source = e.source and d.sequence = e.sequence and d.state in ('pending', 'processing'))
        order by e.sequence limit $4))
