-- replay_delivery for the deliveries $1, whose events arrived on one day [$2, $3).
update deliveries d
set state = 'pending', cycle_attempts = 0, next_attempt_at = clock_timestamp(), due_because = 'replay',
    completed_at = null, failure = null, lost_claims = 0, claim_alone = false, replayed = true
where d.id = any($1::text[]) and d.state = 'failed'
    and exists (
        select from events e
        where e.source = d.source and e.sequence = d.sequence and e.received_at = d.received_at
            and e.received_at >= $2 and e.received_at < $3)
returning d.received_at
