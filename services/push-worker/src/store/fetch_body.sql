-- One large body.
select body from events where source = $1 and sequence = $2 and received_at = $3
