-- The lock of whoever fills the index; it belongs to the session and ends with it. The session need not wait for the
-- disk: what is lost with the server is indexed again, since progress is lost with it.
select pg_try_advisory_lock(7523094288207667817) as locked, set_config('synchronous_commit', 'off', false)
