-- Stores secrets sealed anew, unless they were changed meanwhile.
update push_subscriptions set secret = $2, previous_secret = $3 where id = $1 and secret = $4
returning id
