-- The sealed secrets of one subscription, or of all (null).
select id, secret, previous_secret from push_subscriptions
where ($1::text is null or id = $1) and deleted_at is null
order by id
