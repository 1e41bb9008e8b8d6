-- Every source of the log: its newest event, who listens, who is subscribed.
select h.source, h.last_sequence, h.last_received_at,
    (select count(*) from listeners l where l.source = h.source and l.seen_at > now() - interval '20 seconds')
        as listeners,
    (select count(*) from push_subscriptions s where s.source = h.source and s.deleted_at is null) as subscriptions
from source_heads h
order by h.source
