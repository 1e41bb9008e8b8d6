-- Makes deliveries of the next events after each cursor, already claimed, and moves the cursors: at most what each
-- subscription may start now. A backlog stays in the log: with 1,000 deliveries open nothing is added.
--
-- $1 protocol. $2, $3 subscriptions (cursor rows locked by this transaction) and at most how many of each.
-- $4 delivery ids and $5 tokens, one a row. $6 lease, seconds. $7 worker. $8 the UTC day, and [$9, $10) its bounds,
-- given as values so that other partitions are neither planned nor locked. $11 at most so many in all.
-- Only existing events count, never a range of numbers. Where the day has none left, the cursor goes to just before
-- the next day, or to the head: this snapshot shows every event up to the head that it shows.
with room as materialized (
    select a.subscription_id, a.place, r.source, r.cursor,
        greatest(0, least(a.most, r.room, 1000 - r.open, case when r.ordered then 1 - r.open end, $11))::int as room
    from unnest($2::text[], $3::int[]) with ordinality as a(subscription_id, most, place)
    join subscription_room r on r.subscription_id = a.subscription_id and r.subscription_id = any($2::text[])
    where exists (select from claim_protocol where version <= $1)
),
found as materialized (
    select r.subscription_id, r.place, e.source, e.sequence, e.received_at
    from room r
    cross join lateral (
        select e.source, e.sequence, e.received_at
        from events e
        where e.source = r.source and e.sequence > r.cursor and e.received_at >= $9 and e.received_at < $10
        order by e.sequence
        limit r.room
    ) e
),
fresh as materialized (
    select *
    from (select *, row_number() over (order by place, sequence) as n from found) f
    where n <= $11
),
born as (
    insert into deliveries (id, subscription_id, source, sequence, received_at, state, next_attempt_at, claim_token,
        claim_expires_at, claimed_by)
    select ($4::text[])[f.n], f.subscription_id, f.source, f.sequence, f.received_at, 'processing', clock_timestamp(),
        ($5::uuid[])[f.n], clock_timestamp() + $6::float8 * interval '1 second', $7
    from fresh f
    on conflict (subscription_id, source, sequence) do nothing
    returning id, subscription_id, source, sequence, received_at, attempts, cycle_attempts, claim_token, replayed,
        next_attempt_at as due
),
reached as (
    select r.subscription_id, coalesce(
        (select max(f.sequence) from fresh f where f.subscription_id = r.subscription_id),
        case when r.room > 0 and not exists (select from found f where f.subscription_id = r.subscription_id)
            then coalesce(
                (select min(d.first_sequence) - 1 from event_days d
                 where d.source = r.source and d.day > $8::date and d.first_sequence > r.cursor),
                (select h.last_sequence from source_heads h where h.source = r.source)) end) as cursor
    from room r
),
moved as (
    update subscription_cursors c
    set cursor = greatest(c.cursor, m.cursor), last_served = clock_timestamp(), rate_at = clock_timestamp(),
        rate_left = case when s.rate is null then c.rate_left else least(greatest(s.rate, 1),
            c.rate_left + extract(epoch from clock_timestamp() - c.rate_at)::real * s.rate)
            - (select count(*) from born b where b.subscription_id = c.subscription_id) end
    from reached m
    join push_subscriptions s on s.id = m.subscription_id
    where c.subscription_id = m.subscription_id and m.cursor is not null
)
select id, subscription_id, source, sequence, received_at, attempts, cycle_attempts, claim_token, replayed, due
from born
