-- Those of the sources $1 whose first event ever came in the day from $2 to $3, at or after $4.
select source from events
where source = any($1) and sequence = 1 and received_at >= $2 and received_at < $3 and received_at >= $4::timestamptz
