-- Audit rows older than $1 seconds.
delete from audit where at < now() - $1::float8 * interval '1 second'
