-- The days on which sources received something, with how many events each may hold at most.
select d.source, d.day, d.first_sequence,
       greatest(coalesce(d.last_sequence, h.last_sequence) - d.first_sequence + 1, 0) as events
  from event_days d join source_heads h using (source)
 order by d.source, d.day
