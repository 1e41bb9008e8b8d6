-- Events of source $1 with a sequence above $2 and below $3 that arrived in [$4, $5), newest first, at most $6;
-- only those with the delivery id $7 (or, where the provider gave none, the event id $9) and of the type $8, where
-- these are not null. One partition, by the index on delivery ids where $9 is null; bodies are
-- not read.
select sequence, received_at, event_id, delivery_id, event_type, provider_timestamp, method, target, body_sha256,
       octet_length(body)::bigint as body_bytes, host(remote_addr) as remote_addr
  from events
 where source = $1 and sequence > $2 and sequence < $3 and received_at >= $4 and received_at < $5
   and ($7::text is null or delivery_id = $7
        or ($9::text is not null and delivery_id is null and event_id = $9))
   and ($8::text is null or event_type = $8)
 order by sequence desc
 limit $6::bigint
