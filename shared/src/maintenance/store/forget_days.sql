-- Removes the bounds of days whose partition is gone. The newest day of a source, which is the one without a last
-- sequence, stays: append relies on it.
delete from event_days
where last_sequence is not null and to_regclass('public.events_' || to_char(day, 'YYYYMMDD')) is null
