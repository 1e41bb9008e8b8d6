-- Every table of the partitioned log, oldest first. `attached` is false for one that was detached and not yet
-- dropped, `pending` true for a detach that was interrupted half-way.
select to_date(substr(c.relname, 8), 'YYYYMMDD') as day, i.inhrelid is not null as attached,
    coalesce(i.inhdetachpending, false) as pending
from pg_class c
left join pg_inherits i on i.inhrelid = c.oid and i.inhparent = 'public.events'::regclass
where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname ~ '^events_[0-9]{8}$'
order by day
