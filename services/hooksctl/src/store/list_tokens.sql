-- Every token, the newest first; the ended ones only if they are asked for.
select id, name, kind, scopes, created_at, expires_at, revoked_at, last_used_at
  from tokens
 where $1 or (revoked_at is null and (expires_at is null or expires_at > now()))
 order by created_at desc, id
