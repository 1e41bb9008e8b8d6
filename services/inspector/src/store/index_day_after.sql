-- The day that holds the first event of source $1 behind sequence $2, if any is stored.
with holding as (
    select day, first_sequence, last_sequence from event_days
    where source = $1 and first_sequence <= $2 order by first_sequence desc limit 1
), following as (
    select day, first_sequence, last_sequence from event_days
    where source = $1 and first_sequence > $2 order by first_sequence limit 1
)
select day from (
    select day, first_sequence from holding where last_sequence is null or last_sequence > $2
    union all
    select day, first_sequence from following
) next
order by first_sequence limit 1
