-- replay_delivery for at most $9 deliveries of one subscription and one day [$7, $8) that a filter matches.
update deliveries d
set state = 'pending', cycle_attempts = 0, next_attempt_at = clock_timestamp(), due_because = 'replay',
    completed_at = null, failure = null, lost_claims = 0, claim_alone = false, replayed = true
where d.id = any(array(
        select m.id from deliveries m
        where m.state = 'failed' and m.subscription_id = $1
            and ($2::text is null or m.source = $2)
            and ($3::timestamptz is null or m.received_at >= $3)
            and ($4::timestamptz is null or m.received_at < $4)
            and ($5::int is null or $5 = (
                select a.status from attempts a where a.delivery_id = m.id order by a.number desc limit 1))
            and ($6::text[] is null or m.id = any($6))
            and m.received_at >= $7 and m.received_at < $8
            and exists (
                select from events e
                where e.source = m.source and e.sequence = m.sequence and e.received_at = m.received_at
                    and e.received_at >= $7 and e.received_at < $8)
        order by m.id
        limit $9))
    and d.state = 'failed'
returning d.id
