-- Why append wrote nothing: whether the WAL timeline changed, what time the database has, how far the heads of
-- these sources reach, and how many of them exist.
select coalesce(l.timeline <> current_timeline(), false) as timeline_changed,
    clock_timestamp() as now,
    (select max(last_received_at) from source_heads where source = any($1::text[])) as newest,
    (select count(*) from source_heads where source = any($1::text[])) as heads
from log_state l
