-- A new subscription and its cursor. $16 where it starts: null for the newest event, else after that sequence.
with made as (
    insert into push_subscriptions (id, name, source, url, signing, secret, max_in_flight, rate, ordered, on_failure,
        preserve_method, forward_credentials, record_response, retry, created_by)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
    returning id, source
)
insert into subscription_cursors (subscription_id, source, cursor)
select m.id, m.source, coalesce($16::bigint, h.last_sequence)
from made m
join source_heads h on h.source = m.source
returning cursor
