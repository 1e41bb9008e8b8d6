-- What the other files here are filled from: when the log began, sources, event types and subscriptions.
create schema fixture;
-- Twenty whole days up to the last midnight: what is measured does not depend on the time of day.
create table fixture.origin as
select date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - interval '20 days' as began;
create table fixture.sources (source text, events int);
insert into fixture.sources values ('alpha', 600000), ('beta', 100000), ('gamma', 60000), ('delta', 50000),
    ('epsilon', 50000), ('zeta', 50000), ('eta', 50000), ('theta', 39900), ('hooks.system', 100);

-- `terms` are those that every event of the type has.
create table fixture.kinds (number int, kind text, headers bytea, terms bigint[]);

-- What each subscription has been sent, how many of the newest are owed, and of how many one has failed.
create table fixture.subscriptions (id text, source text, first bigint, last bigint, owed int, failing int, state text);
insert into fixture.subscriptions values
    ('sub_busy', 'alpha', 280001, 600000, 100, 500, 'active'),
    ('sub_down', 'alpha', 520001, 600000, 1000, 2, 'active'),
    ('sub_quiet', 'beta', 50001, 100000, 0, 5000, 'active'),
    ('sub_replayed', 'beta', 70001, 100000, 20000, 100, 'active'),
    ('sub_paused', 'gamma', 40001, 50000, 1000, 300, 'paused'),
    ('sub_ordered', 'gamma', 50001, 60000, 50, 300, 'active');

do $$ begin
    for n in 0..20 loop perform create_events_partition((now() at time zone 'UTC')::date - n); end loop;
end $$;

-- Secondary indexes are built over what is there, as the migrations define them.
create table fixture.indexes as
select c.relname as name, replace(pg_get_indexdef(c.oid), ' ON ONLY ', ' ON ') as definition
from pg_class c where c.relname in ('events_dedupe', 'events_delivery', 'event_search_terms');
drop index events_dedupe, events_delivery, event_search_terms;
