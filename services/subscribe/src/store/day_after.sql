-- The day that holds the first event of source $1 behind sequence $2: the day that contains $2, if there is
-- more in it, else the next one. No row: nothing behind $2 is stored. last_sequence is null for the newest day.
with holding as (
    select day, first_sequence, last_sequence
      from event_days
     where source = $1 and first_sequence <= $2
     order by first_sequence desc
     limit 1
), following as (
    select day, first_sequence, last_sequence
      from event_days
     where source = $1 and first_sequence > $2
     order by first_sequence
     limit 1
)
select day, first_sequence, last_sequence
  from holding
 where last_sequence is null or last_sequence > $2
union all
select day, first_sequence, last_sequence
  from following
 order by first_sequence
 limit 1
