-- The terms $4 of the event $2 of source $1 that arrived at $3.
insert into event_search (source, sequence, received_at, terms) values ($1, $2, $3, $4)
on conflict do nothing
