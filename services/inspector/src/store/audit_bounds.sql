-- The lowest and the highest id of the audit; null where it is empty.
select (select id from audit order by id limit 1) as lowest, (select id from audit order by id desc limit 1) as highest
