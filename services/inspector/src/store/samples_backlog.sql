-- What is owed over all subscriptions, since when the oldest of it is due, and how many deliveries failed (counted up to
-- 10,001).
select coalesce(sum(greatest(0, coalesce(h.last_sequence, 0) - c.cursor) + o.open), 0)::bigint as owed,
    extract(epoch from now() - min(o.due) filter (where o.due < now() and c.state = 'active'))::float8 as oldest_due,
    (select count(*) from (select from deliveries where state = 'failed' limit 10001) f) as failed
from subscription_cursors c
left join source_heads h on h.source = c.source
cross join lateral (
    select count(*) as open, min(due) as due from (
        select coalesce(d.claim_expires_at, d.next_attempt_at) as due from deliveries d
        where d.subscription_id = c.subscription_id and d.state in ('pending', 'processing')
        order by 1 limit 10000) o) o
where c.state <> 'deleted'
