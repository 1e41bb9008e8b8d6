-- The refused requests of source $1 that are kept, newest first. There are at most a hundred.
select id, at, verdict, status, certain, reasons, method, body_bytes
from rejected_requests
where source = $1
order by id desc
limit 100
