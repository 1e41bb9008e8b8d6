-- Removes refused requests of any source after a day.
delete from rejected_requests
where at < clock_timestamp() - interval '1 day'
