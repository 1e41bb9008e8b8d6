-- Gives claims back unsent: only those whose token the row still holds. Due at once, and no longer suspect (L11).
update deliveries d
set state = 'pending', claim_token = null, claim_expires_at = null, claim_alone = false, lost_claims = 0,
    due_because = 'given_back'
from unnest($1::text[], $2::uuid[]) as a(id, token)
where d.id = a.id and d.claim_token = a.token
returning d.id
