-- Claims retries that are due, of subscriptions whose cursor rows this transaction has locked (pick): at most what
-- each may start now. Rows that somebody else has locked are skipped.
--
-- $1 protocol. $2, $3 subscriptions and at most how many of each. $4 tokens, one a row. $5 lease, seconds.
-- $6 worker. $7 lower bound of due times. $8 at most so many in all.
-- Lost claims are not taken here but by reclaim.
with due as materialized (
    select d.id, d.due, a.place
    from unnest($2::text[], $3::int[]) with ordinality as a(subscription_id, most, place)
    join subscription_room r on r.subscription_id = a.subscription_id and r.subscription_id = any($2::text[])
    cross join lateral (
        select d.id, coalesce(d.claim_expires_at, d.next_attempt_at) as due
        from deliveries d
        where d.subscription_id = a.subscription_id
            and d.state = 'pending'
            and coalesce(d.claim_expires_at, d.next_attempt_at) <= statement_timestamp()
            and coalesce(d.claim_expires_at, d.next_attempt_at) >= $7
            and (not r.ordered or not exists (
                select from deliveries e
                where e.subscription_id = d.subscription_id
                    and e.state in ('pending', 'processing')
                    and e.sequence < d.sequence))
        order by coalesce(d.claim_expires_at, d.next_attempt_at)
        limit least(a.most, r.room)
        for update skip locked
    ) d
    where exists (select from claim_protocol where version <= $1)
),
numbered as (
    select id, due, row_number() over (order by place, due, id) as n from due order by n limit $8
),
claimed as (
    update deliveries d
    set state = 'processing', claim_token = ($4::uuid[])[n.n],
        claim_expires_at = clock_timestamp() + $5::float8 * interval '1 second',
        claimed_by = $6, claim_alone = false
    from numbered n
    where d.id = n.id
    returning d.id, d.subscription_id, d.source, d.sequence, d.received_at, d.attempts, d.cycle_attempts,
        d.claim_token, d.replayed, n.due
),
served as (
    update subscription_cursors c
    set last_served = clock_timestamp(), rate_at = clock_timestamp(),
        rate_left = case when s.rate is null then c.rate_left else least(greatest(s.rate, 1),
            c.rate_left + extract(epoch from clock_timestamp() - c.rate_at)::real * s.rate) - t.n end
    from (select subscription_id, count(*) as n from claimed group by subscription_id) t
    join push_subscriptions s on s.id = t.subscription_id
    where c.subscription_id = t.subscription_id
)
select id, subscription_id, source, sequence, received_at, attempts, cycle_attempts, claim_token, replayed, due
from claimed
