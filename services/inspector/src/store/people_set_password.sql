-- Gives the person $1 another password.
update people set password_hash = $2 where id = $1
