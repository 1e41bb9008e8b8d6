-- The services that have said that they are alive, and how long ago.
select service, version, config_hash, extract(epoch from now() - seen_at)::float8 as silent,
       extract(epoch from now() - started_at)::float8 as running
  from service_instances
 where seen_at > now() - interval '1 hour'
 order by service, started_at
