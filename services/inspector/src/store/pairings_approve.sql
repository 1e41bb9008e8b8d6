-- The person $2 grants the scopes $3 to the pairing $1.
update pairings set state = 'approved', person_id = $2, granted_scopes = $3
where id = $1 and state = 'pending' and expires_at > now()
