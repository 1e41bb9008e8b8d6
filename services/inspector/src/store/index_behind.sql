-- Sources with events that are not indexed.
select h.source, coalesce(p.sequence, 0) as indexed, h.last_sequence as newest
from source_heads h
left join event_search_progress p on p.source = h.source
where h.last_sequence > coalesce(p.sequence, 0)
order by h.source
