-- The audit, newest first: of the actor $1 (their words) or $2 (an id), the action $3 (a name, or a beginning that ends
-- in a dot), the subject $4, the outcome $5, within [$6, $7), with ids from $8 to below $9, at most $10.
select id, at, actor, person_id, token_id, session_id, address, request_id, action, subject, outcome, affected, details
from audit
where ($1::text is null or actor = $1)
    and ($2::uuid is null or $2 in (person_id, token_id, session_id))
    and ($3::text is null or action = $3 or right($3, 1) = '.' and starts_with(action, $3))
    and ($4::text is null or subject = $4)
    and ($5::text is null or outcome = $5)
    and ($6::timestamptz is null or at >= $6)
    and ($7::timestamptz is null or at < $7)
    and id >= $8
    and id < $9
order by id desc
limit $10
