-- The UTC day whose bounds hold a sequence.
select day from event_days where source = $1 and first_sequence <= $2 order by first_sequence desc limit 1
