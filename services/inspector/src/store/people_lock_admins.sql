-- The active administrators, locked in the order of their ids: whoever removes one counts under this lock.
select id from people where role = 'admin' and deactivated_at is null order by id for update
