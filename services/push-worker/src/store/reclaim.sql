-- Takes over one claim whose lease has ended, alone (L11), of the subscriptions whose cursor rows are locked. If the
-- claim that was lost had been made alone too, it counts; at the ceiling the delivery fails instead.
--
-- $1 protocol. $2 subscriptions. $3 token. $4 lease, seconds. $5 worker. $6 ceiling.
with lost as materialized (
    select d.id, d.losses, d.due
    from unnest($2::text[]) as a(subscription_id)
    join subscription_room r on r.subscription_id = a.subscription_id and r.subscription_id = any($2::text[])
    cross join lateral (
        select d.id, d.lost_claims + d.claim_alone::int as losses, d.claim_expires_at as due
        from deliveries d
        where d.subscription_id = a.subscription_id
            and d.state = 'processing'
            and coalesce(d.claim_expires_at, d.next_attempt_at) <= statement_timestamp()
            and (not r.ordered or not exists (
                select from deliveries e
                where e.subscription_id = d.subscription_id
                    and e.state in ('pending', 'processing')
                    and e.sequence < d.sequence))
        order by coalesce(d.claim_expires_at, d.next_attempt_at)
        limit 1
        for update skip locked
    ) d
    where r.room > 0 and exists (select from claim_protocol where version <= $1)
    order by due
    limit 1
),
taken as (
    update deliveries d
    set lost_claims = l.losses,
        state = case when l.losses >= $6 then 'failed' else 'processing' end,
        failure = case when l.losses >= $6 then 'lost_claims' end,
        completed_at = case when l.losses >= $6 then clock_timestamp() end,
        claim_token = case when l.losses < $6 then $3::uuid end,
        claim_expires_at = case when l.losses < $6
            then clock_timestamp() + $4::float8 * interval '1 second' end,
        claimed_by = $5, claim_alone = true
    from lost l
    where d.id = l.id
    returning d.id, d.subscription_id, d.source, d.sequence, d.received_at, d.attempts, d.cycle_attempts,
        d.claim_token, d.replayed, l.due, d.state = 'failed' as failed
),
served as (
    update subscription_cursors c
    set last_served = clock_timestamp(), rate_at = clock_timestamp(),
        rate_left = case when s.rate is null then c.rate_left else least(greatest(s.rate, 1),
            c.rate_left + extract(epoch from clock_timestamp() - c.rate_at)::real * s.rate) - 1 end
    from taken t
    join push_subscriptions s on s.id = t.subscription_id
    where c.subscription_id = t.subscription_id and not t.failed
)
select id, subscription_id, source, sequence, received_at, attempts, cycle_attempts, claim_token, replayed, due, failed
from taken
