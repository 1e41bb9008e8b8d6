-- The newest sequence of each of the sources $1 (text[]), when it arrived, and whether this server only
-- replays another's log (a pinned connection to a demoted primary answers like any other otherwise).
-- Reads at most one row a source by primary key; no locks.
select source, last_sequence, last_received_at, pg_is_in_recovery() as standby
  from source_heads
 where source = any($1)
