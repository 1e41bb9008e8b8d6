-- Deactivates the person $1; no row where they are already.
update people set deactivated_at = now() where id = $1 and deactivated_at is null
