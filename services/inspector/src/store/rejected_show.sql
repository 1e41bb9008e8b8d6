-- One refused request of source $1, by its id $2; without an id the newest.
select id, at, verdict, status, certain, reasons, method, target, headers, host(remote_addr) as remote_addr,
    body, body_bytes
from rejected_requests
where source = $1 and ($2::bigint is null or id = $2)
order by id desc
limit 1
