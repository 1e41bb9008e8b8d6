-- The newest events of source $1 behind sequence $2 that arrived in [$3, $4), at most $5.
select source, sequence, received_at, event_id, delivery_id, event_type, provider_timestamp, method, target, remote_addr,
    octet_length(body)::bigint as body_bytes
from events
where source = $1 and sequence > $2 and received_at >= $3 and received_at < $4
order by sequence desc
limit $5
