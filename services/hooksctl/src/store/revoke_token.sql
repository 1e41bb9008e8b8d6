-- Ends a token, once. Its row stays until maintenance takes it away. No row: there is no such token.
update tokens
   set revoked_at = coalesce(revoked_at, now())
 where id = $1
returning name
