-- This minute's numbers: of each source the newest sequence and what was refused in the minute before, of each
-- subscription what it is owed and for how long, of each service how many processes are alive. The minute is part of the
-- key, so that of several processes one writes.
insert into samples (series, subject, at, value)
select 'sequence', source, date_trunc('minute', now()), last_sequence from source_heads
union all
select 'owed', c.subscription_id, date_trunc('minute', now()), greatest(0, coalesce(h.last_sequence, 0) - c.cursor) + o.open
from subscription_cursors c
left join source_heads h on h.source = c.source
cross join lateral (
    select count(*) as open from (
        select from deliveries d
        where d.subscription_id = c.subscription_id and d.state in ('pending', 'processing') limit 10000) o) o
where c.state <> 'deleted'
union all
select 'oldest_due', c.subscription_id, date_trunc('minute', now()), greatest(0, coalesce(extract(epoch from now() - o.due), 0))
from subscription_cursors c
cross join lateral (
    select min(coalesce(d.claim_expires_at, d.next_attempt_at)) as due from deliveries d
    where d.subscription_id = c.subscription_id and d.state in ('pending', 'processing')) o
where c.state <> 'deleted'
union all
select 'listeners', source, date_trunc('minute', now()), count(*) from listeners
where seen_at > now() - interval '20 seconds' group by source
union all
select 'refused', h.source, date_trunc('minute', now()), count(r.id)
from source_heads h
left join rejected_requests r on r.source = h.source
    and r.at >= date_trunc('minute', now()) - interval '1 minute' and r.at < date_trunc('minute', now())
group by h.source
union all
select 'alive', service, date_trunc('minute', now()), count(*) filter (where seen_at > now() - interval '30 seconds')
from service_instances group by service
on conflict do nothing
