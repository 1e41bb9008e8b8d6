-- Lets the person $1 sign in again; no row where they may.
update people set deactivated_at = null where id = $1 and deactivated_at is not null
