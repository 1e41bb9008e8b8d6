-- The events of source $1 behind sequence $2 that arrived in [$3, $4), oldest first, at most $5; bodies up to $6 bytes.
select sequence, received_at, event_id, delivery_id, event_type, headers,
    case when octet_length(body) > $6::bigint then ''::bytea else body end as body
from events
where source = $1 and sequence > $2 and received_at >= $3 and received_at < $4
order by sequence
limit $5
