-- Moves a subscription to active, paused or disabled, under its cursor row's lock. Becoming active forgives the
-- receiver its past: the circuit closes.
update subscription_cursors
set state = $2, state_reason = $3, state_by = $4, state_at = clock_timestamp(),
    strikes = case when $2 = 'active' then 0 else strikes end,
    probe_at = case when $2 = 'active' then null else probe_at end,
    failing_since = case when $2 = 'active' then null else failing_since end
where subscription_id = $1 and state <> 'deleted'
returning subscription_id
