-- A million events over twenty days.
insert into events (source, sequence, received_at, event_id, dedupe_key, delivery_id, event_type, provider_timestamp,
    method, target, headers, exact, remote_addr, body, body_sha256)
select m.source, n, began + n * (interval '20 days' / m.events), 'evt_' || m.source || n, '\x00',
    'd-' || m.source || '-' || n, p.kind, null, 'POST', convert_to('/ingest/' || m.source, 'UTF8'), p.headers, true,
    '203.0.113.9', convert_to(format('{"data":{"id":"evt-%s-%s","kind":"%s"}}', m.source, n, p.kind), 'UTF8'), '\x00'
from fixture.origin, fixture.sources m
cross join lateral generate_series(1, m.events) n
join fixture.kinds p on p.number = n % 8;

do $$
declare definition text;
begin
    for definition in select i.definition from fixture.indexes i where i.name like 'events_%' loop
        execute definition;
    end loop;
end
$$;

insert into event_days (source, day, first_sequence, last_sequence)
select source, (received_at at time zone 'UTC')::date, min(sequence), max(sequence) from events group by 1, 2;
update event_days e set last_sequence = null
where day = (select max(day) from event_days newest where newest.source = e.source);
insert into source_heads as h (source, last_sequence, last_received_at)
select m.source, m.events, began + interval '20 days' from fixture.sources m, fixture.origin
on conflict (source) do update
set last_sequence = excluded.last_sequence, last_received_at = excluded.last_received_at;

analyze events, event_days, source_heads;
