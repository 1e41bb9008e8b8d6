-- Whether push still needs events of source $1 in [$2, $3): a subscription's cursor lies below the last of them, or a
-- delivery of one of them is not at an end.
select exists (
        select from subscription_cursors c
        where c.source = $1 and c.state <> 'deleted' and c.cursor < (
            select e.sequence from events e
            where e.source = $1 and e.received_at >= $2 and e.received_at < $3
            order by e.sequence desc limit 1))
    or exists (
        select from deliveries d
        where d.source = $1 and d.state in ('pending', 'processing') and d.received_at >= $2 and d.received_at < $3)
    as needed
