-- Locks a subscription's cursor row: the first statement of every operator's action on it. A claim that is open is
-- waited for; what it made is seen by the second statement.
select state, source from subscription_cursors where subscription_id = $1 for no key update
