-- The deliveries of the event $2 of source $1, by the key of deliveries.
select d.id, d.subscription_id, s.name as subscription_name, d.source, d.sequence, d.received_at, d.state, d.attempts,
    d.cycle_attempts, d.next_attempt_at, d.due_because, d.claim_expires_at, d.claimed_by, d.replayed, d.failure,
    d.created_at, d.completed_at, a.status as last_status, a.outcome as last_outcome, a.error as last_error
from push_subscriptions s
join deliveries d on d.subscription_id = s.id and d.source = $1 and d.sequence = $2
left join attempts a on a.delivery_id = d.id and a.number = d.attempts
where s.source = $1 or $1 = 'hooks.system'
order by s.name, d.id
