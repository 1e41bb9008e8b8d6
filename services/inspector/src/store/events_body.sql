-- The body and headers of one event: sequence $2 of source $1, arrived in [$3, $4).
select body, headers from events where source = $1 and sequence = $2 and received_at >= $3 and received_at < $4
