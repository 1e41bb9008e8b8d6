-- The sources with events in [$1, $2), by a loose walk over the primary key: one look-up a source.
with recursive walk as (
    (select source from events where received_at >= $1 and received_at < $2 order by source limit 1)
    union all
    select (
        select e.source from events e
        where e.received_at >= $1 and e.received_at < $2 and e.source > w.source
        order by e.source limit 1)
    from walk w
    where w.source is not null
)
select source from walk where source is not null
