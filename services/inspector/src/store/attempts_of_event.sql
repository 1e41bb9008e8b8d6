-- The attempts of the deliveries of the event $2 of source $1, the newest first for each; at most 500 altogether.
select a.delivery_id, a.number, a.started_at, a.duration_ms, a.outcome, a.status, a.error, a.late
from push_subscriptions s
join deliveries d on d.subscription_id = s.id and d.source = $1 and d.sequence = $2
join attempts a on a.delivery_id = d.id
where s.source = $1 or $1 = 'hooks.system'
order by a.delivery_id, a.number desc
limit 500
