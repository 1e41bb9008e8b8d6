-- Deletes a subscription, under its cursor row's lock: everything it owes is cancelled, claims under way included
-- (their results will be late). The secrets go at once; name and history stay until they are purged.
with gone as (
    update push_subscriptions
    set deleted_at = clock_timestamp(), secret = '', previous_secret = null, previous_secret_until = null
    where id = $1 and deleted_at is null
    returning id
),
closed as (
    update subscription_cursors c
    set state = 'deleted', state_reason = null, state_by = $2, state_at = clock_timestamp()
    from gone g where c.subscription_id = g.id
),
cancelled as (
    update deliveries d
    set state = 'cancelled', completed_at = clock_timestamp(), claim_token = null, claim_expires_at = null,
        claim_alone = false
    from gone g
    where d.subscription_id = g.id and d.state in ('pending', 'processing')
    returning d.id
)
select (select count(*) from cancelled) as cancelled from gone
