-- After a commit whose outcome is not known: gives back whatever it claimed. The cursor rows are locked first, so the
-- commit has either happened by now or never will.
update deliveries
set state = 'pending', claim_token = null, claim_expires_at = null, claim_alone = false, lost_claims = 0,
    due_because = 'given_back'
where subscription_id = any($1::text[])
    and state in ('pending', 'processing')
    and claim_token = any($2::uuid[])
returning id
