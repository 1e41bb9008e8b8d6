-- Whether the partition of the day after the present one is there.
select to_regclass('public.events_' || to_char((now() at time zone 'UTC') + interval '1 day', 'YYYYMMDD'))
    is not null as there
