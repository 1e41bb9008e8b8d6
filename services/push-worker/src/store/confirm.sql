-- Which of these claims may be sent: the token is still the row's, and the subscription is active. Asked after the
-- claim was committed and right before sending.
select d.claim_token
from unnest($1::text[], $2::uuid[]) as a(id, token)
join deliveries d on d.id = a.id and d.claim_token = a.token
join subscription_cursors c on c.subscription_id = d.subscription_id
where c.state = 'active'
