-- Stores a batch under the locked heads: the second statement of the transaction, so that its snapshot sees
-- what the previous holder of the locks committed, which makes the search for duplicates exact.
--
-- Before: lock_heads for every source of the batch, in the same transaction.
-- After: one row for each input that is in the log, new or found; none at all when the guard is not met
--   (another WAL timeline, or [$15, $16) does not cover the windows), and then nothing was written.
-- $4: seconds for which an equal key is the same event; 0: only this very event, sent again.
-- [$15, $16): where duplicates may lie; given as values so that other partitions are neither planned nor locked.
with input as materialized (
    select *
    from unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[], $5::text[], $6::text[], $7::timestamptz[],
        $8::text[], $9::bytea[], $10::bytea[], $11::bool[], $12::inet[], $13::bytea[], $14::bytea[])
        with ordinality as i(source, event_id, dedupe_key, window_seconds, delivery_id, event_type,
            provider_timestamp, method, target, headers, exact, remote_addr, body, body_sha256, place)
),
head as materialized (
    select source, last_sequence, greatest(last_received_at, clock_timestamp()) as at
    from source_heads
    where source = any($1::text[])
),
guard as materialized (
    select (select coalesce(timeline = current_timeline(), true) from log_state)
        and not exists (
            select from input join head using (source)
            where head.at >= $16::timestamptz
                or head.at - make_interval(secs => input.window_seconds) < $15::timestamptz
        ) as holds
),
found as materialized (
    select i.place, e.sequence, e.received_at, e.event_id = i.event_id as own
    from guard
    cross join input i
    join head h using (source)
    cross join lateral (
        select sequence, received_at, event_id
        from events
        where source = i.source
            and dedupe_key = i.dedupe_key
            and received_at >= $15::timestamptz
            and received_at < $16::timestamptz
            and (event_id = i.event_id
                or received_at > h.at - make_interval(secs => i.window_seconds))
        order by event_id <> i.event_id, sequence
        limit 1
    ) e
    where guard.holds
),
fresh as (
    select i.*, first_value(place) over (partition by source, dedupe_key order by place) as first_place
    from guard
    cross join input i
    where guard.holds
        and not exists (select from found where found.place = i.place)
),
numbered as materialized (
    select f.*, h.at,
        h.last_sequence + row_number() over (partition by f.source order by f.place) as sequence
    from fresh f
    join head h using (source)
    where f.place = f.first_place
),
inserted as (
    insert into events (source, sequence, received_at, event_id, dedupe_key, delivery_id, event_type,
        provider_timestamp, method, target, headers, exact, remote_addr, body, body_sha256)
    select source, sequence, at, event_id, dedupe_key, delivery_id, event_type,
        provider_timestamp, method, target, headers, exact, remote_addr, body, body_sha256
    from numbered
    returning source, sequence, received_at
),
per_source as (
    select source, min(sequence) as first_sequence, max(sequence) as last_sequence, max(received_at) as at,
        (max(received_at) at time zone 'UTC')::date as day
    from inserted
    group by source
),
bumped as (
    update source_heads h
    set last_sequence = p.last_sequence, last_received_at = p.at
    from per_source p
    where h.source = p.source
),
new_day as (
    select p.source, p.day, p.first_sequence
    from per_source p
    where not exists (select from event_days d where d.source = p.source and d.day = p.day)
),
opened as (
    insert into event_days (source, day, first_sequence)
    select source, day, first_sequence from new_day
),
closed as (
    update event_days d
    set last_sequence = greatest(h.last_sequence, d.first_sequence)
    from new_day n
    join head h using (source)
    where d.source = n.source and d.last_sequence is null
)
select place, sequence, received_at, own as is_new from found
union all
select f.place, s.sequence, s.received_at, f.place = f.first_place
from fresh f
join numbered n on n.place = f.first_place
join inserted s on s.source = n.source and s.sequence = n.sequence
