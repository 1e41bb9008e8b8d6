-- A page of deliveries, newest first: ids sort by age. $1 subscription, $2 source, $3 state, [$4, $5) when it was made,
-- $6 only ids below, $7 how many.
select d.id, d.subscription_id, d.source, d.sequence, d.received_at, d.state, d.attempts, d.cycle_attempts,
    d.next_attempt_at, d.due_because, d.claim_expires_at, d.claimed_by, d.replayed, d.failure, d.created_at,
    d.completed_at
from deliveries d
where ($1::text is null or d.subscription_id = $1)
    and ($2::text is null or d.source = $2)
    and ($3::text is null or d.state = $3)
    and ($4::timestamptz is null or d.created_at >= $4)
    and ($5::timestamptz is null or d.created_at < $5)
    and ($6::text is null or d.id < $6)
order by d.id desc
limit $7
