-- One delivery and what decides when it moves.
select d.id, d.subscription_id, d.source, d.sequence, d.received_at, d.state, d.attempts, d.cycle_attempts,
    d.next_attempt_at, d.due_because, d.claim_expires_at, d.claimed_by, d.replayed, d.failure, d.created_at,
    d.completed_at, d.lost_claims, clock_timestamp() as now,
    s.name, s.url, s.ordered, s.max_in_flight, s.rate, c.state as subscription_state, c.state_reason, c.state_by,
    c.state_at, c.probe_at, c.strikes, r.busy, r.room,
    (select count(*) from (select from deliveries a
        where a.subscription_id = d.subscription_id and a.state in ('pending', 'processing')
            and case when s.ordered then a.sequence < d.sequence else
                coalesce(a.claim_expires_at, a.next_attempt_at) < d.next_attempt_at end
        limit 1001) x) as ahead
from deliveries d
join push_subscriptions s on s.id = d.subscription_id
join subscription_cursors c on c.subscription_id = d.subscription_id
join subscription_room r on r.subscription_id = d.subscription_id
where d.id = $1
