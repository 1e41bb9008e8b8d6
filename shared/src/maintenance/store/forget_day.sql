-- Removes the bounds of one source's day after all of its events went. [$3, $4) is the day.
delete from event_days
where source = $1 and day = $2 and last_sequence is not null
    and not exists (select from events where source = $1 and received_at >= $3 and received_at < $4)
