-- Why append wrote nothing: whether the WAL timeline changed, and how many of these sources' heads exist.
select coalesce(l.timeline <> current_timeline(), false) as timeline_changed,
    (select count(*) from source_heads where source = any($1::text[])) as heads
from log_state l
