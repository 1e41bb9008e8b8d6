-- What a batch of attempts says about the receivers, under the locks of lock_cursors. A 2xx clears everything; a
-- timeout or refused connection is a strike, any other answer breaks the row of strikes unless the circuit is open.
-- From $6 strikes on the next try waits $7 seconds, doubling with every strike, at most $8.
-- After $9 seconds of nothing but failures, or when the receiver said so ($5), an active subscription is disabled.
--
-- $1 subscriptions, $2 whether the last attempt succeeded, $3 strikes since the last success, $4 whether any attempt
-- got an answer that was no success, $5 why the subscription is to be disabled, or null.
with said as (
    select * from unnest($1::text[], $2::bool[], $3::int[], $4::bool[], $5::text[])
        as a(subscription_id, succeeded, strikes, answered, disable)
),
judged as (
    select s.subscription_id, s.succeeded,
        case when s.succeeded then s.strikes
            when s.answered and c.strikes < $6 then s.strikes
            else c.strikes + s.strikes end as strikes,
        case when s.succeeded then null else coalesce(c.failing_since, clock_timestamp()) end as failing_since,
        c.state = 'active' as was_active,
        case when c.state <> 'active' then null
            when s.disable is not null then s.disable
            when not s.succeeded and c.failing_since < clock_timestamp() - $9::float8 * interval '1 second'
                then 'failing' end as disable
    from said s
    join subscription_cursors c on c.subscription_id = s.subscription_id
),
updated as (
    update subscription_cursors c
    set strikes = j.strikes, proven = j.succeeded, failing_since = j.failing_since,
        probe_at = case when j.strikes >= $6 then clock_timestamp()
            + least($8::float8, $7::float8 * power(2, least(j.strikes - $6, 20))) * interval '1 second' end,
        state = case when j.disable is null then c.state else 'disabled' end,
        state_reason = coalesce(j.disable, c.state_reason),
        state_by = case when j.disable is null then c.state_by else 'push-worker' end,
        state_at = case when j.disable is null then c.state_at else clock_timestamp() end
    from judged j
    where c.subscription_id = j.subscription_id
    returning c.subscription_id, c.source, j.disable
)
select subscription_id, source, disable from updated where disable is not null
