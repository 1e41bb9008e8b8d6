-- Locks the heads of a batch's sources: the first statement of the transaction that appends.
-- Sorted, so that two batches never wait for each other in a ring. Held until the commit is flushed.
select source
from source_heads
where source = any($1::text[])
order by source
for no key update
