-- The days of source $1 that can hold events with a sequence above $2 and below $3 that arrived from day $4 to
-- day $5, newest first, at most $6.
select day, first_sequence, last_sequence
  from event_days
 where source = $1 and (last_sequence is null or last_sequence > $2) and first_sequence < $3
   and day >= $4 and day <= $5
 order by first_sequence desc
 limit $6::bigint
