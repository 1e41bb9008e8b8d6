-- The newest handshakes of source $1.
select at, kind, outcome from handshakes where source = $1 order by id desc limit 20
