-- Locks the cursor rows of a source, sorted: fan-outs, claims and replays of its subscriptions wait, or pass them over.
select subscription_id from subscription_cursors where source = $1 order by subscription_id for no key update
