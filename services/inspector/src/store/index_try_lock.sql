-- The lock of whoever fills the index; it belongs to the session and ends with it.
select pg_try_advisory_lock(7523094288207667817) as locked
