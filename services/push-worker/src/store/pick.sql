-- Chooses the subscriptions that have something to send, least recently served first, and locks their cursor rows:
-- the first statement of every claim. Whoever holds a row is skipped, never waited for.
--
-- $1 protocol of this worker; one that is older than the schema's gets nothing (L12).
-- $2 sources that are paused. $3 subscriptions not worth asking now. $4 at most so many.
-- $5 only those whose last attempt succeeded: the slots that are kept for them.
-- $6 lower bound of due times: index entries of finished rows that a long snapshot keeps from being cleaned lie
--    below it. The caller asks without it every few seconds.
-- `has_due`: a retry or a lost claim is due. `day`: where the next event lies; null where the log has none.
with recursive open as (
    (
        select subscription_id, coalesce(claim_expires_at, next_attempt_at) as due
        from deliveries
        where state in ('pending', 'processing') and coalesce(claim_expires_at, next_attempt_at) >= $6
        order by subscription_id, coalesce(claim_expires_at, next_attempt_at)
        limit 1
    )
    union all
    select n.subscription_id, n.due
    from open o
    cross join lateral (
        select d.subscription_id, coalesce(d.claim_expires_at, d.next_attempt_at) as due
        from deliveries d
        where d.state in ('pending', 'processing')
            and d.subscription_id > o.subscription_id
            and coalesce(d.claim_expires_at, d.next_attempt_at) >= $6
        order by d.subscription_id, coalesce(d.claim_expires_at, d.next_attempt_at)
        limit 1
    ) n
),
wanting as materialized (
    select c.subscription_id, coalesce(o.due <= statement_timestamp(), false) as has_due, h.last_sequence
    from subscription_cursors c
    join source_heads h on h.source = c.source
    left join open o on o.subscription_id = c.subscription_id
    where c.state = 'active'
        and c.source <> all($2::text[])
        and c.subscription_id <> all($3::text[])
        and (c.probe_at is null or c.probe_at <= statement_timestamp())
        and (not $5 or c.proven)
        and (c.cursor < h.last_sequence or o.due <= statement_timestamp())
),
chosen as materialized (
    select c.subscription_id, c.source, c.cursor, c.strikes, c.proven, c.failing_since is not null as failing,
        c.last_served, w.has_due, c.cursor < w.last_sequence as has_more
    from subscription_cursors c
    join wanting w on w.subscription_id = c.subscription_id
    where c.state = 'active'
        and exists (select from claim_protocol where version <= $1)
    order by c.last_served, c.subscription_id
    limit $4
    for no key update of c skip locked
)
select c.subscription_id, c.source, c.strikes, c.proven, c.failing, s.url, s.signing, s.secret, s.previous_secret,
    s.ordered, s.on_failure, coalesce(s.previous_secret_until > statement_timestamp(), false) as previous_holds,
    s.preserve_method, s.forward_credentials, s.record_response, s.retry, c.has_due, c.has_more,
    case when c.has_more then coalesce(
        (select d.day from event_days d
         where d.source = c.source and d.first_sequence <= c.cursor + 1
             and (d.last_sequence is null or d.last_sequence > c.cursor)
         order by d.first_sequence desc limit 1),
        (select d.day from event_days d
         where d.source = c.source and d.first_sequence > c.cursor
         order by d.first_sequence limit 1)) end as day
from chosen c
join push_subscriptions s on s.id = c.subscription_id
order by c.last_served, c.subscription_id
