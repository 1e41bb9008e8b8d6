-- What a filter matches, a subscription a row: $1 subscription, $2 source, [$3, $4) time of arrival, $5 status of the
-- last attempt, $6 ids. Reads failed deliveries only, by the indexes that only they are in.
select d.subscription_id, count(*) as count, min(d.received_at) as oldest, max(d.received_at) as newest
from deliveries d
join subscription_cursors c on c.subscription_id = d.subscription_id and c.state <> 'deleted'
where d.state = 'failed'
    and ($1::text is null or d.subscription_id = $1)
    and ($2::text is null or d.source = $2)
    and ($3::timestamptz is null or d.received_at >= $3)
    and ($4::timestamptz is null or d.received_at < $4)
    and ($5::int is null or $5 = (
        select a.status from attempts a where a.delivery_id = d.id order by a.number desc limit 1))
    and ($6::text[] is null or d.id = any($6))
group by d.subscription_id
order by d.subscription_id
