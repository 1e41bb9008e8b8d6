-- What the push subscriptions of source $1 have made of sequence $2: one row for each that owes or owed it.
-- The subscriptions of a source are few; each is one look-up by (subscription, source, sequence).
select s.id as subscription_id, s.name as subscription, d.id as delivery_id, d.state, d.attempts,
       case when d.state = 'pending' then d.next_attempt_at end as next_attempt_at, d.completed_at, d.failure
  from push_subscriptions s
  join deliveries d on d.subscription_id = s.id and d.source = $1 and d.sequence = $2
 where s.source = $1
 order by s.name, s.id
