-- One event: sequence $2 of source $1, arrived in [$3, $4). A body above $5 bytes is left out.
select source, sequence, received_at, event_id, delivery_id, event_type, provider_timestamp, method, target, headers,
    exact, remote_addr, case when octet_length(body) > $5::bigint then ''::bytea else body end as body, body_sha256,
    octet_length(body)::bigint as body_bytes
from events
where source = $1 and sequence = $2 and received_at >= $3 and received_at < $4
