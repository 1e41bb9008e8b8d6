-- Makes the heads of sources that have none yet.
insert into source_heads (source)
select unnest($1::text[])
on conflict (source) do nothing
