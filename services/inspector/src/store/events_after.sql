-- The events of source $1 behind sequence $2 and up to $3, of those that arrived in [$4, $5).
select source, sequence, received_at, event_id, delivery_id, event_type, provider_timestamp, method, target, remote_addr,
    octet_length(body)::bigint as body_bytes
from events
where source = $1 and sequence > $2 and sequence <= $3 and received_at >= $4 and received_at < $5
order by sequence
