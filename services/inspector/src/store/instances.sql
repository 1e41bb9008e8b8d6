-- The processes that have spoken lately. They do every ten seconds.
select id, service, version, config_hash, started_at, seen_at, seen_at > now() - interval '30 seconds' as alive
from service_instances
order by service, started_at
limit 500
