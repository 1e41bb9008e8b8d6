-- The search index of those events. A term is the beginning of a SHA-256, as src/search/terms.rs has it.
insert into event_search (source, sequence, received_at, terms)
select m.source, n, began + n * (interval '20 days' / m.events),
    k.terms || ('x' || encode(substr(sha256('\x6200646174612e696401'::bytea
        || convert_to('evt-' || m.source || '-' || n, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
        || ('x' || encode(substr(sha256('\x6b0001'::bytea || convert_to('d-' || m.source || '-' || n, 'UTF8')), 1, 8),
            'hex'))::bit(64)::bigint
from fixture.origin, fixture.sources m
cross join lateral generate_series(1, m.events) n
join fixture.kinds k on k.number = n % 8;
insert into event_search_progress (source, sequence) select source, events from fixture.sources
on conflict (source) do update set sequence = excluded.sequence;

do $$
declare definition text;
begin
    for definition in select i.definition from fixture.indexes i where i.name = 'event_search_terms' loop
        execute definition;
    end loop;
end
$$;

analyze event_search;
