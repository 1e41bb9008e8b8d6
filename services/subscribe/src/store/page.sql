-- The next events of source $1 behind sequence $2 that arrived in [$3, $4), oldest first: at most $5 rows, and
-- no further row once bodies and headers reach $8 bytes. Bodies above $6 bytes are left out (their length is
-- told), and of events signed before $7 (nullable) everything that only a sender would need.
-- The caller bounds the arrival time to one day: one partition is planned, locked and read.
select source, sequence, received_at, event_id, delivery_id, event_type, provider_timestamp, method, target,
       case when stale then ''::bytea else headers end as headers, exact, remote_addr,
       case when stale or body_bytes > $6::bigint then ''::bytea else body end as body, body_sha256, body_bytes, stale
  from (select facts.*, sum(weight) over (order by sequence rows unbounded preceding) - weight as before
          from (select source, sequence, received_at, event_id, delivery_id, event_type, provider_timestamp,
                       method, target, headers, exact, remote_addr, body, body_sha256,
                       octet_length(body)::bigint as body_bytes,
                       coalesce(provider_timestamp < $7::timestamptz, false) as stale,
                       case when provider_timestamp < $7::timestamptz then 100
                            when octet_length(body) > $6::bigint then octet_length(headers) * 3
                            else octet_length(body) + octet_length(headers) * 3 end as weight
                  from events
                 where source = $1 and sequence > $2 and received_at >= $3 and received_at < $4
                 order by sequence
                 limit $5::bigint) facts) page
 where before < $8::bigint
 order by sequence
