-- When an event arrived, if it is still there. [$3, $4) is a day in which it may lie.
select received_at from events where source = $1 and sequence = $2 and received_at >= $3 and received_at < $4
