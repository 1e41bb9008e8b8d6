-- As events_list, of the events whose terms in the index hold all of $10; with headers, and bodies up to $11 bytes, to be
-- compared. For each source the planner chooses between the index on terms (rare ones) and the newest rows (frequent
-- ones).
select e.source, e.sequence, e.received_at, e.event_id, e.delivery_id, e.event_type, e.provider_timestamp, e.method,
    e.target, e.remote_addr, octet_length(e.body)::bigint as body_bytes, e.headers,
    case when octet_length(e.body) > $11::bigint then ''::bytea else e.body end as body
from (
    select s.source, s.sequence, s.received_at
    from unnest($1::text[]) as wanted (source)
    cross join lateral (
        select s.source, s.sequence, s.received_at
        from event_search s
        where s.source = wanted.source and s.received_at >= $2 and s.received_at < $3 and s.terms @> $10::bigint[]
            and s.received_at < $4::timestamptz and s.received_at >= $5::timestamptz
            and ($6::timestamptz is null or s.received_at < $6
                or s.received_at = $6 and (s.source > $7::text or s.source = $7 and s.sequence < $8::bigint))
        order by s.sequence desc
        limit $9::bigint
    ) s
    order by s.received_at desc, s.source, s.sequence desc
    limit $9
) hit
join events e on e.source = hit.source and e.sequence = hit.sequence and e.received_at = hit.received_at
    and e.received_at >= $2 and e.received_at < $3
order by e.received_at desc, e.source, e.sequence desc
