-- A new person. No row where the address is taken.
insert into people (id, email, name, role, scopes, password_hash) values ($1, $2, $3, $4, $5, $6)
on conflict do nothing
