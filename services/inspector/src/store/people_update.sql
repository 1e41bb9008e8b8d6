-- Changes name $2, role $3 and scopes $4 of the person $1; null leaves a value as it is.
update people set name = coalesce($2, name), role = coalesce($3, role), scopes = coalesce($4, scopes)
where id = $1
returning id, email, name, role, scopes, created_at, deactivated_at
