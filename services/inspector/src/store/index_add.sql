-- Events of source $1: $2 sequences, $3 when they arrived, $4 the terms of each as the text of an array.
insert into event_search (source, sequence, received_at, terms)
select $1, sequence, received_at, terms::bigint[]
from unnest($2::bigint[], $3::timestamptz[], $4::text[]) as one (sequence, received_at, terms)
on conflict do nothing
