-- Deletes at most $4 of a source's oldest events in [$2, $3); how many went is read by the caller, who asks again
-- until none is left. Short, so that nothing waits long for it.
delete from events
where source = $1 and received_at >= $2 and received_at < $3
    and sequence = any(array(
        select sequence from events
        where source = $1 and received_at >= $2 and received_at < $3
        order by sequence limit $4))
