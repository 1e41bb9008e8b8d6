-- Keeps a handshake, and of its source only the newest twenty.
-- $1 source, $2 kind, $3 outcome
with kept as (
    insert into handshakes (source, kind, outcome)
    values ($1, $2, $3)
)
delete from handshakes
where source = $1
  and id <= (select id from handshakes where source = $1 order by id desc offset 19 limit 1)
