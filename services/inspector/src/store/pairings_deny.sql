-- Refuses the pairing $1.
update pairings set state = 'denied' where id = $1 and state = 'pending'
