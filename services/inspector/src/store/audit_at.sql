-- The first row of the audit with an id of at least $1.
select id, at from audit where id >= $1 order by id limit 1
