-- Records attempts and their transitions under the locks of lock_deliveries: the second statement, whose snapshot
-- shows what the previous holder of the locks committed (L3 to L6).
--
-- $1 protocol. Then one array element a result: $2 delivery, $3 token, $4 milliseconds since the attempt ended,
-- $5 its duration in milliseconds, $6 outcome, $7 status, $8 error, $9 URL without query, $10 response,
-- $11 state that the owner gives the delivery, $12 milliseconds until it is due again, $13 why then, $14 why it failed.
-- $15 worker.
--
-- Owner is whose token the row holds; nothing else is asked. An attempt under another token is recorded as late and
-- changes nothing but `attempts`. One row a result comes back, except for deliveries that are gone; `again` marks a
-- result that an earlier, undecided commit had recorded already.
with given as materialized (
    select *
    from unnest($2::text[], $3::uuid[], $4::float8[], $5::int[], $6::text[], $7::int[], $8::text[], $9::text[],
        $10::bytea[], $11::text[], $12::float8[], $13::text[], $14::text[])
        as g(id, token, age, duration, outcome, status, error, url, response, state, wait, because, failure)
    where exists (select from claim_protocol where version <= $1)
),
known as materialized (
    select g.id, g.token, a.number, a.late
    from given g
    join attempts a on a.delivery_id = g.id and a.claim_token = g.token
),
numbered as materialized (
    select g.*, clock_timestamp() - g.age * interval '1 millisecond' as ended_at,
        d.claim_token is not null and d.claim_token = g.token as owner,
        d.attempts + row_number() over (partition by g.id order by g.age desc, g.token) as number
    from given g
    join deliveries d on d.id = g.id
    where not exists (select from known k where k.id = g.id and k.token = g.token)
),
written as (
    insert into attempts (delivery_id, number, claim_token, started_at, duration_ms, outcome, status, error, url, worker,
        late, response)
    select n.id, n.number, n.token, n.ended_at - n.duration * interval '1 millisecond', n.duration, n.outcome, n.status,
        n.error, n.url, $15, not n.owner, n.response
    from numbered n
),
counted as (
    select id, count(*) as made from numbered group by id
),
moved as (
    update deliveries d
    set attempts = d.attempts + c.made,
        cycle_attempts = d.cycle_attempts + case when o.id is null then 0 else 1 end,
        state = coalesce(o.state, d.state),
        completed_at = case when o.id is null then d.completed_at
            when o.state <> 'pending' then o.ended_at end,
        next_attempt_at = case when o.state = 'pending' then o.ended_at + o.wait * interval '1 millisecond'
            else d.next_attempt_at end,
        due_because = case when o.state = 'pending' then o.because else d.due_because end,
        failure = case when o.id is null then d.failure else o.failure end,
        claim_token = case when o.id is null then d.claim_token end,
        claim_expires_at = case when o.id is null then d.claim_expires_at end,
        lost_claims = case when o.id is null then d.lost_claims else 0 end,
        claim_alone = case when o.id is null then d.claim_alone else false end
    from counted c
    left join numbered o on o.id = c.id and o.owner
    where d.id = c.id
)
select id, token, number::int as number, owner, false as again from numbered
union all
select id, token, number, not late, true from known
