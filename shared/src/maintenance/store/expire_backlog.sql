-- Gives up what push still owes of source $1's events in [$2, $3), under the cursor rows' locks: open deliveries fail
-- as expired, cursors below the last of these events go up to it. A row for each subscription that lost something.
with last as (
    select e.sequence from events e
    where e.source = $1 and e.received_at >= $2 and e.received_at < $3
    order by e.sequence desc limit 1
),
expired as (
    update deliveries d
    set state = 'failed', failure = 'expired', completed_at = clock_timestamp(), claim_token = null,
        claim_expires_at = null, claim_alone = false
    where d.source = $1 and d.state in ('pending', 'processing') and d.received_at >= $2 and d.received_at < $3
    returning d.subscription_id
),
jumped as (
    update subscription_cursors c
    set cursor = l.sequence
    from last l, (select subscription_id, cursor as before from subscription_cursors) b
    where c.source = $1 and c.state <> 'deleted' and c.cursor < l.sequence and b.subscription_id = c.subscription_id
    returning c.subscription_id, b.before, c.cursor
),
skipped as (
    select j.subscription_id, (
        select count(*) from events e
        where e.source = $1 and e.received_at >= $2 and e.received_at < $3 and e.sequence > j.before) as events
    from jumped j
)
select subscription_id, sum(deliveries)::bigint as deliveries, sum(events)::bigint as events
from (
    select subscription_id, count(*) as deliveries, 0 as events from expired group by subscription_id
    union all
    select subscription_id, 0, events from skipped
) lost
group by subscription_id
