-- Subscriptions as operators see them: all, of one source ($1), or one ($2). Deleted ones only by id.
select s.id, s.name, s.source, s.url, s.signing, s.max_in_flight, s.rate, s.ordered, s.on_failure, s.preserve_method,
    s.forward_credentials, s.record_response, s.retry, s.created_at, s.created_by, s.updated_at,
    s.previous_secret_until, c.state, c.state_reason, c.state_by, c.state_at, c.cursor, c.strikes, c.probe_at,
    c.proven, c.failing_since, greatest(0, h.last_sequence - c.cursor) as behind,
    (select count(*) from (select from deliveries d
        where d.subscription_id = s.id and d.state in ('pending', 'processing') limit 1001) o) as open,
    (select count(*) from (select from deliveries d
        where d.subscription_id = s.id and d.state = 'failed' limit 1001) f) as failed
from push_subscriptions s
join subscription_cursors c on c.subscription_id = s.id
left join source_heads h on h.source = s.source
where ($1::text is null or s.source = $1) and (s.id = $2 or ($2::text is null and s.deleted_at is null))
order by s.name, s.id
