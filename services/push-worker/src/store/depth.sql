-- For the metrics: deliveries not yet at an end, how many of them are due, and for how long the oldest has been.
select count(*) as open, count(*) filter (where due <= now()) as due,
    coalesce(extract(epoch from now() - min(due) filter (where due <= now())), 0)::float8 as oldest
from (
    select coalesce(d.claim_expires_at, d.next_attempt_at) as due
    from deliveries d
    join subscription_cursors c on c.subscription_id = d.subscription_id and c.state = 'active'
    where d.state in ('pending', 'processing')
) d
