-- Events of the sources $1 on the day [$2, $3), newest first: arrived before $4 and not before $5, behind the place
-- ($6 time, $7 source, $8 sequence), at most $9. For each source the primary key is read backwards from where its times
-- say to begin to where they say to end, so a page costs the same at the top and at the bottom of a long day. Where that
-- is, is found out once a source: `offset 0` keeps the search out of the conditions on rows.
select e.source, e.sequence, e.received_at, e.event_id, e.delivery_id, e.event_type, e.provider_timestamp, e.method,
    e.target, e.remote_addr, e.body_bytes
from (
    select source,
        case when $4::timestamptz < $3 then coalesce(sequence_before(source, $2, $3, $4), 0)
            else 9223372036854775807 end as last,
        case when $5::timestamptz > $2 then coalesce(sequence_before(source, $2, $3, $5), 0) else 0 end as before_first
    from unnest($1::text[]) as wanted (source)
    offset 0
) wanted
cross join lateral (
    select e.source, e.sequence, e.received_at, e.event_id, e.delivery_id, e.event_type, e.provider_timestamp, e.method,
        e.target, e.remote_addr, octet_length(e.body)::bigint as body_bytes
    from events e
    where e.source = wanted.source and e.received_at >= $2 and e.received_at < $3
        and e.sequence <= wanted.last and e.sequence > wanted.before_first
        and ($6::timestamptz is null or e.received_at < $6
            or e.received_at = $6 and (e.source > $7::text or e.source = $7 and e.sequence < $8::bigint))
    order by e.sequence desc
    limit $9::bigint
) e
order by e.received_at desc, e.source, e.sequence desc
limit $9
