-- The day of the event with sequence $2 of source $1, if that number was ever given.
select day
from (select day, last_sequence
    from event_days
    where source = $1 and first_sequence <= $2
    order by first_sequence desc
    limit 1) holding
where last_sequence is null or last_sequence >= $2
