-- The next $8 failed deliveries of the subscription $1 by id behind $7, and whether the rest of the filter ($2 to $6 as
-- in plan_replay) wants each: however many batches a bulk replay takes, each delivery is looked at once.
with next as materialized (
    select d.id, d.source, d.received_at
    from deliveries d
    where d.state = 'failed' and d.subscription_id = $1 and d.id > $7 and ($6::text[] is null or d.id = any($6))
    order by d.id
    limit $8
)
select d.id, d.received_at,
    ($2::text is null or d.source = $2)
    and ($3::timestamptz is null or d.received_at >= $3)
    and ($4::timestamptz is null or d.received_at < $4)
    and ($5::int is null or coalesce($5 = (
        select a.status from attempts a where a.delivery_id = d.id order by a.number desc limit 1), false)) as wanted
from next d
order by d.id
