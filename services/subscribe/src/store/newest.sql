-- The newest events of source $1 up to sequence $2 that arrived in [$3, $4), newest first: at most $5 rows, and
-- no further row once bodies and headers reach $7 bytes. Bodies above $6 bytes are left out. One partition.
select source, sequence, received_at, event_id, delivery_id, event_type, provider_timestamp, method, target,
       headers, exact, remote_addr,
       case when body_bytes > $6::bigint then ''::bytea else body end as body, body_sha256, body_bytes
  from (select facts.*, sum(weight) over (order by sequence desc rows unbounded preceding) - weight as before
          from (select source, sequence, received_at, event_id, delivery_id, event_type, provider_timestamp,
                       method, target, headers, exact, remote_addr, body, body_sha256,
                       octet_length(body)::bigint as body_bytes,
                       case when octet_length(body) > $6::bigint then octet_length(headers) * 3
                            else octet_length(body) + octet_length(headers) * 3 end as weight
                  from events
                 where source = $1 and sequence <= $2 and received_at >= $3 and received_at < $4
                 order by sequence desc
                 limit $5::bigint) facts) page
 where before < $7::bigint
 order by sequence desc
