-- The replay requests behind number $1, in order, at most 100. Numbers are given under the lock of the head
-- row, so that none can appear behind one that was read.
select number, source, sequence, received_at
  from replay_requests
 where number > $1
 order by number
 limit 100
