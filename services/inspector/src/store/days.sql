-- The days from $2 to $3 on which one of the sources $1 has events, newest first, at most $4.
select distinct day from event_days
where source = any($1) and day >= $2 and day <= $3
order by day desc
limit $4
