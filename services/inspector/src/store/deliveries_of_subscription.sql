-- Deliveries of the subscription $1 (of source $2), the newest event first, behind sequence $3: of the next $7 the ones in
-- state $4, made in [$5, $6), at most $8; and a row that says where the stretch ended and whether it was full.
with stretch as materialized (
    select d.id, d.subscription_id, d.source, d.sequence, d.received_at, d.state, d.attempts, d.cycle_attempts,
        d.next_attempt_at, d.due_because, d.claim_expires_at, d.claimed_by, d.replayed, d.failure, d.created_at,
        d.completed_at
    from deliveries d
    where d.subscription_id = $1 and d.source = $2 and ($3::bigint is null or d.sequence < $3)
    order by d.sequence desc
    limit $7::bigint
),
shown as materialized (
    select * from stretch d
    where ($4::text is null or d.state = $4)
        and ($5::timestamptz is null or d.created_at >= $5) and ($6::timestamptz is null or d.created_at < $6)
    order by d.sequence desc
    limit $8::bigint
)
(select d.id, d.subscription_id, s.name as subscription_name, d.source, d.sequence, d.received_at, d.state, d.attempts,
    d.cycle_attempts, d.next_attempt_at, d.due_because, d.claim_expires_at, d.claimed_by, d.replayed, d.failure,
    d.created_at, d.completed_at, a.status as last_status, a.outcome as last_outcome, a.error as last_error,
    false as is_end, null::text as end_id, null::bigint as end_sequence, false as end_more
from shown d
join push_subscriptions s on s.id = d.subscription_id
left join attempts a on a.delivery_id = d.id and a.number = d.attempts
order by d.sequence desc)
union all
select null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
    true, null, min(stretch.sequence), count(*) = $7
from stretch
