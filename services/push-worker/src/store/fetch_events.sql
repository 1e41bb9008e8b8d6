-- The events of a batch that lie in [$4, $5), once each. A body above $6 bytes is left out (null) and fetched by the
-- one delivery that sends it.
select e.source, e.sequence, e.received_at, e.event_id, e.delivery_id, e.event_type, e.provider_timestamp, e.method,
    e.target, e.headers, e.exact, e.remote_addr, e.body_sha256,
    case when octet_length(e.body) <= $6 then e.body end as body, octet_length(e.body) as size
from unnest($1::text[], $2::bigint[], $3::timestamptz[]) as a(source, sequence, received_at)
join events e on e.source = a.source and e.sequence = a.sequence and e.received_at = a.received_at
    and e.received_at >= $4 and e.received_at < $5
