-- Source $1 is indexed up to sequence $2.
insert into event_search_progress as p (source, sequence) values ($1, $2)
on conflict (source) do update set sequence = greatest(p.sequence, excluded.sequence)
