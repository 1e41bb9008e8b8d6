-- Those of the tokens $1 (uuid[]) that are still good.
select id
  from tokens
 where id = any($1) and revoked_at is null and (expires_at is null or expires_at > now())
