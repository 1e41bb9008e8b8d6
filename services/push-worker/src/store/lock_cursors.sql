-- Locks cursor rows, waiting for whoever holds them. Sorted.
select subscription_id from subscription_cursors where subscription_id = any($1::text[])
order by subscription_id for no key update
