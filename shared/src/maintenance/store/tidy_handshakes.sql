-- All but the newest twenty handshakes of each source.
delete from handshakes
where id in (
    select id
    from (select id, row_number() over (partition by source order by id desc) as place from handshakes) h
    where place > 20)
