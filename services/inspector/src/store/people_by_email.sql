-- The person with the address $1, whatever its case, and their password's hash.
select id, email, name, role, scopes, created_at, deactivated_at, password_hash
from people where lower(email) = lower($1)
