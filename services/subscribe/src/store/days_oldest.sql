-- As days_newest, oldest first.
select day, first_sequence, last_sequence
  from event_days
 where source = $1 and (last_sequence is null or last_sequence > $2) and first_sequence < $3
   and day >= $4 and day <= $5
 order by first_sequence
 limit $6::bigint
