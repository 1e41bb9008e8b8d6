-- Fails claims that can never be sent, because their event is gone. No request was made, so there is no attempt.
update deliveries d
set state = 'failed', failure = a.failure, completed_at = clock_timestamp(), claim_token = null, claim_expires_at = null,
    claim_alone = false
from unnest($1::text[], $2::uuid[], $3::text[]) as a(id, token, failure)
where d.id = a.id and d.claim_token = a.token
returning d.id
