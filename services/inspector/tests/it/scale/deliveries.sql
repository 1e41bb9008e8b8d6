-- Half a million deliveries with their attempts.
insert into push_subscriptions (id, name, source, url, secret, ordered, created_by)
select id, id, source, 'https://receiver.example/' || id, '', id = 'sub_ordered', 'somebody' from fixture.subscriptions;
insert into subscription_cursors (subscription_id, source, cursor, state) select id, source, last, state from fixture.subscriptions;

insert into deliveries (id, subscription_id, source, sequence, received_at, state, attempts, cycle_attempts,
    next_attempt_at, failure, created_at, completed_at)
select 'dlv_' || lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || w.id || n, w.id, w.source, n, at,
    d.state, d.attempts, d.attempts, case when d.state = 'pending' then now() - random() * interval '1 hour' else at end,
    case when d.state = 'failed' then 'attempts_exhausted' end, at + interval '1 second',
    case when d.state <> 'pending' then at + interval '2 seconds' end
from fixture.origin, fixture.subscriptions w
join fixture.sources m on m.source = w.source
cross join lateral generate_series(w.first, w.last) n
cross join lateral (select began + n * (interval '20 days' / m.events) as at) e
cross join lateral (select case
    when n > w.last - w.owed then 'pending'
    when n % w.failing = 0 then 'failed'
    when n % 997 = 0 then 'cancelled'
    else 'delivered' end as state) s
cross join lateral (select s.state, case s.state when 'delivered' then 1 when 'failed' then 3 else 0 end as attempts) d;

insert into attempts (delivery_id, number, claim_token, started_at, duration_ms, outcome, status, url, worker, late)
select d.id, n, '00000000-0000-0000-0000-000000000000', d.created_at + n * interval '1 second', 20 + d.sequence % 80,
    case d.state when 'failed' then 'http_error' else 'succeeded' end,
    case when d.state = 'delivered' then 200 when d.subscription_id = 'sub_down' then 503 else 500 end,
    'https://receiver.example/', 'worker-1', false
from deliveries d cross join lateral generate_series(1, d.attempts) n;

vacuum (analyze) push_subscriptions, subscription_cursors, deliveries, attempts;
