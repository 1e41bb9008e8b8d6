-- Keeps a refused request, and of its source only the newest hundred of the last day. The rows that this very
-- statement inserts are not seen by its own delete, hence ninety-nine older ones stay.
-- $1 source, $2 verdict, $3 status, $4 certain, $5 reasons, $6 method, $7 target, $8 headers, $9 sender,
-- $10 body, $11 its length
with kept as (
    insert into rejected_requests
        (source, verdict, status, certain, reasons, method, target, headers, remote_addr, body, body_bytes)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
)
delete from rejected_requests
where source = $1
  and id <= (select id from rejected_requests where source = $1 order by id desc offset 99 limit 1)
