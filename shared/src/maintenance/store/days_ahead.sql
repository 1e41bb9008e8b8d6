-- The UTC days that need a partition: yesterday to a week from now, and the same around the newest event, whose
-- time may lie ahead of the clock after the clock was set back. (Not the range between: a clock that was wrong by
-- years would make thousands.)
select distinct day::date as day
from (select now() as around union all select max(last_received_at) from source_heads) t
cross join lateral generate_series(
    ((greatest(around, now()) at time zone 'UTC')::date - 1)::timestamp,
    ((greatest(around, now()) at time zone 'UTC')::date + 7)::timestamp,
    interval '1 day') day
where to_regclass('public.events_' || to_char(day, 'YYYYMMDD')) is null
order by day
