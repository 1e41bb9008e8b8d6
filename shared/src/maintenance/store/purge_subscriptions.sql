-- Deleted subscriptions of which no history is left.
delete from push_subscriptions s
where deleted_at < now() - $1::float8 * interval '1 second'
    and not exists (select from deliveries d where d.subscription_id = s.id)
