-- Sends one event to one subscription again, under its cursor row's lock: a delivery that has ended begins a new
-- cycle, one that waits is due now, one that does not exist is made ($2 its id). One that is under way is left alone.
insert into deliveries as d (id, subscription_id, source, sequence, received_at, state, next_attempt_at, due_because,
    replayed)
values ($2, $1, $3, $4, $5, 'pending', clock_timestamp(), 'replay', true)
on conflict (subscription_id, source, sequence) do update
set state = 'pending', cycle_attempts = case when d.state = 'pending' then d.cycle_attempts else 0 end,
    next_attempt_at = clock_timestamp(), due_because = 'replay', completed_at = null, failure = null, lost_claims = 0,
    claim_alone = false, replayed = true
where d.state <> 'processing'
returning d.id
