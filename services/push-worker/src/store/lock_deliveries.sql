-- Locks the deliveries of a batch of results: the first statement of the transaction that records them. Sorted, so
-- that two recorders never wait for each other in a ring.
select id from deliveries where id = any($1::text[]) order by id for no key update
