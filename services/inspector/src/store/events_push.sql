-- How the deliveries of the events ($1 sources, $2 sequences) stand. By the key of deliveries, so every subscription of
-- the source is looked up; events of hooks.system are owed to whomever they were sent to as a test.
select wanted.source, wanted.sequence,
    count(*) filter (where d.state = 'delivered') as delivered,
    count(*) filter (where d.state = 'failed') as failed,
    count(*) filter (where d.state in ('pending', 'processing')) as open,
    count(*) filter (where d.state = 'cancelled') as cancelled
from unnest($1::text[], $2::bigint[]) as wanted (source, sequence)
join push_subscriptions s on s.source = wanted.source or wanted.source = 'hooks.system'
join deliveries d on d.subscription_id = s.id and d.source = wanted.source and d.sequence = wanted.sequence
group by wanted.source, wanted.sequence
