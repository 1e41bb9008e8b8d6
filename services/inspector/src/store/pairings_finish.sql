-- The token of the pairing $1 is fetched.
update pairings set state = 'done' where id = $1 and state = 'approved'
