-- The person $1.
select id, email, name, role, scopes, created_at, deactivated_at from people where id = $1
