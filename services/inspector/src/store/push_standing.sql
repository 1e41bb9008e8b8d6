-- How the subscriptions $1 stand: what is under way and may start, since when the oldest delivery not at an end is due,
-- and how the attempts of the newest $2 deliveries of each went. Both are read from the ends of indexes.
select r.subscription_id, r.busy, r.room, o.due as next_due,
    extract(epoch from clock_timestamp() - o.due)::float8 as due_seconds,
    a.attempts, a.succeeded, a.median_ms, a.slow_ms
from unnest($1::text[]) as wanted (id)
join subscription_room r on r.subscription_id = wanted.id
cross join lateral (
    select min(coalesce(d.claim_expires_at, d.next_attempt_at)) as due
    from deliveries d
    where d.subscription_id = wanted.id and d.state in ('pending', 'processing')
) o
cross join lateral (
    select count(*) as attempts, count(*) filter (where a.outcome = 'succeeded') as succeeded,
        percentile_cont(0.5) within group (order by a.duration_ms)::float8 as median_ms,
        percentile_cont(0.95) within group (order by a.duration_ms)::float8 as slow_ms
    from (
        select d.id from deliveries d
        where d.subscription_id = wanted.id and d.source = r.source
        order by d.sequence desc
        limit $2::bigint
    ) newest
    join attempts a on a.delivery_id = newest.id
) a
