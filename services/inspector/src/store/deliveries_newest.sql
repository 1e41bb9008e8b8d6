-- Deliveries of the sources $1 (null: all), the newest first, behind the id $2: of the next $6 the ones in state $3, made in
-- [$4, $5), at most $7; and a row that says where the stretch ended and whether it was full.
with stretch as materialized (
    select d.id, d.subscription_id, d.source, d.sequence, d.received_at, d.state, d.attempts, d.cycle_attempts,
        d.next_attempt_at, d.due_because, d.claim_expires_at, d.claimed_by, d.replayed, d.failure, d.created_at,
        d.completed_at
    from deliveries d
    where $2::text is null or d.id < $2
    order by d.id desc
    limit $6::bigint
),
shown as materialized (
    select * from stretch d
    where ($1::text[] is null or d.source = any($1)) and ($3::text is null or d.state = $3)
        and ($4::timestamptz is null or d.created_at >= $4) and ($5::timestamptz is null or d.created_at < $5)
    order by d.id desc
    limit $7::bigint
)
(select d.id, d.subscription_id, s.name as subscription_name, d.source, d.sequence, d.received_at, d.state, d.attempts,
    d.cycle_attempts, d.next_attempt_at, d.due_because, d.claim_expires_at, d.claimed_by, d.replayed, d.failure,
    d.created_at, d.completed_at, a.status as last_status, a.outcome as last_outcome, a.error as last_error,
    false as is_end, null::text as end_id, null::bigint as end_sequence, false as end_more
from shown d
join push_subscriptions s on s.id = d.subscription_id
left join attempts a on a.delivery_id = d.id and a.number = d.attempts
order by d.id desc)
union all
select null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
    true, min(stretch.id), null, count(*) = $6
from stretch
