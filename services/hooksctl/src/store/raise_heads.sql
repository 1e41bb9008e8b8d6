-- Moves every number past whatever a lost server, or the time after a backup, may have given.
select raise_heads(true) as raised
