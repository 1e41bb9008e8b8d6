-- One page of a source's day: whether each body still has its hash. The server hashes, so that a page of
-- large bodies does not cross the network.
select sequence, encode(body_sha256, 'hex') as stored, encode(sha256(body), 'hex') as found
  from events
 where source = $1 and sequence > $2 and received_at >= $3 and received_at < $4
 order by sequence
 limit $5
