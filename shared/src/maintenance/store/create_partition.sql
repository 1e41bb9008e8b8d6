-- Makes and attaches the partition of one UTC day; false where it was there. Locks the parent for an instant.
select create_events_partition($1::date) as created
