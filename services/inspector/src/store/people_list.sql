-- People of role $1 (null: all) by address, behind the address $2, at most $3.
select id, email, name, role, scopes, created_at, deactivated_at
from people
where ($1::text is null or role = $1) and lower(email) > $2
order by lower(email)
limit $3
