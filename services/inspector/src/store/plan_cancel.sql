-- What a cancellation would be about: the pending deliveries of the subscription $1 whose events arrived in [$2, $3),
-- counted up to 10,001.
select count(*) as count, min(received_at) as oldest, max(received_at) as newest
from (
    select received_at from deliveries
    where subscription_id = $1 and state = 'pending'
        and ($2::timestamptz is null or received_at >= $2)
        and ($3::timestamptz is null or received_at < $3)
    limit 10001
) pending
