-- The attempts of the newest 200 deliveries of the subscription $1 (of source $2), oldest first.
select a.started_at, a.duration_ms, a.outcome = 'succeeded' as succeeded
from (select id from deliveries where subscription_id = $1 and source = $2 order by sequence desc limit 200) d
join attempts a on a.delivery_id = d.id
order by a.started_at
limit 2000
