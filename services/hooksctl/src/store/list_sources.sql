-- Every source that has ever been configured, how far its log has got, and who listens now.
select h.source, h.last_sequence, nullif(h.last_received_at, 'epoch') as last_received_at,
       (select count(*) from listeners l
         where l.source = h.source and l.seen_at > now() - interval '30 seconds') as listeners
  from source_heads h
 order by h.source
