-- People, tokens, a long audit, eight days of samples, and everything else that is there for a while.
insert into people (id, email, name, role, password_hash)
select gen_random_uuid(), 'person' || n || '@example.com', 'Person ' || n, 'member', 'x' from generate_series(1, 500) n;
insert into tokens (id, name, kind, scopes, secret_hash, owner_id, created_at, revoked_at)
select gen_random_uuid(), 'token ' || n, 'listener', '{alpha}', sha256(convert_to('t' || n, 'UTF8')),
    p.id, now() - n * interval '1 minute', case when n % 3 = 0 then now() end
from generate_series(1, 5000) n
join (select id, row_number() over () as place from people where password_hash = 'x') p on p.place = 1 + n % 500;
insert into invites (id, code_hash, role, created_at, expires_at)
select gen_random_uuid(), sha256(convert_to('i' || n, 'UTF8')), 'member', now() - n * interval '1 hour', now()
from generate_series(1, 500) n;
insert into audit (at, actor, person_id, action, subject, outcome, address)
select now() - (200000 - n) * interval '30 seconds', 'person' || n % 500 || '@example.com', p.id,
    (array['token.create', 'session.begin', 'delivery.replay', 'event.replay'])[1 + n % 4], 'token:' || n,
    case when n % 50 = 0 then 'refused' else 'done' end, '203.0.113.9'
from generate_series(1, 200000) n
join (select id, row_number() over () as place from people where password_hash = 'x') p on p.place = 1 + n % 500;
insert into audit (at, actor, action, subject) values (now() - interval '69 days', 'rare', 'rare.action', 'rare:1');
insert into samples (series, subject, at, value)
select 'sequence', source, at, extract(epoch from at)
from fixture.sources, generate_series(date_trunc('minute', now()) - interval '8 days', now() - interval '1 minute', '1 minute') at
-- Of one source they do not go back over the last hour.
where source <> 'theta' or at < now() - interval '2 hours'
union all
select series, id, at, 7 from fixture.subscriptions, unnest(array['owed', 'oldest_due']) series,
    generate_series(date_trunc('minute', now()) - interval '8 days', now() - interval '1 minute', '1 minute') at;
insert into service_instances (id, service, version, config_hash, started_at, seen_at)
select gen_random_uuid(), 'ingest', '1', 'x', now(), now() from generate_series(1, 20);
insert into listeners (id, instance, token_id, source, since, cursor, seen_at)
select gen_random_uuid(), gen_random_uuid(), (select id from tokens limit 1), 'alpha', now(), n, now() + interval '1 hour'
from generate_series(1, 2000) n;
insert into handshakes (source, kind, outcome) select 'alpha', 'challenge', 'answered' from generate_series(1, 20);
insert into rejected_requests (at, source, verdict, status, certain, reasons, method, target, headers, body, body_bytes)
select now() - n * interval '1 minute', m.source, 'bad_signature', 401, true, '{}', 'POST', '/', '', '', 0
from fixture.sources m, generate_series(1, 100) n;

vacuum (analyze) people, tokens, invites, audit, samples, listeners, rejected_requests;
