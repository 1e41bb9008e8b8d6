-- Stores a batch under the locked heads: the second statement of the transaction, so that its snapshot sees
-- what the previous holder of the locks committed, which makes the search for repeats exact.
--
-- Before: lock_heads for every source of the batch, in the same transaction.
-- After: one row for each input that is in the log, new or found; none at all when the server's WAL timeline is
--   not the remembered one, and then nothing was written.
-- $4: seconds for which an equal key is the same event; 0: only this very event, sent again.
-- Planned once for all batches: the values are not looked at, and the bodies not copied, while planning.
with input as materialized (
    select *
    from unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[], $5::text[], $6::text[], $7::timestamptz[],
        $8::text[], $9::bytea[], $10::bytea[], $11::bool[], $12::inet[], $13::bytea[], $14::bytea[])
        with ordinality as i(source, event_id, dedupe_key, window_seconds, delivery_id, event_type,
            provider_timestamp, method, target, headers, exact, remote_addr, body, body_sha256, place)
    where (select coalesce(timeline = current_timeline(), true) from log_state)
),
head as materialized (
    select source, last_sequence, greatest(last_received_at, clock_timestamp()) as at
    from source_heads
    where source = any($1::text[])
),
found as materialized (
    select place, sequence, received_at, own
    from find_repeats($1::text[], $2::text[], $3::bytea[], $4::bigint[])
),
fresh as (
    select i.*, h.last_sequence, h.at,
        i.place = first_value(i.place) over (partition by i.source, i.dedupe_key order by i.place) as is_new
    from input i
    join head h using (source)
    where not exists (select from found where found.place = i.place)
),
numbered as materialized (
    select *, last_sequence + count(*) filter (where is_new) over (partition by source order by place) as sequence
    from fresh
),
inserted as (
    insert into events (source, sequence, received_at, event_id, dedupe_key, delivery_id, event_type,
        provider_timestamp, method, target, headers, exact, remote_addr, body, body_sha256)
    select source, sequence, at, event_id, dedupe_key, delivery_id, event_type,
        provider_timestamp, method, target, headers, exact, remote_addr, body, body_sha256
    from numbered
    where is_new
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
select place, sequence, own as is_new
from found
where exists (select from input)
union all
select place,
    -- A repeat within the batch has the number of the first of its kind.
    first_value(sequence) over (partition by source, dedupe_key order by place),
    is_new
from numbered
