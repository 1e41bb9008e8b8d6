-- The token whose text hashes to $1, unless it is revoked or has expired; and whether its last use was noted
-- within a minute.
select id, kind, scopes, coalesce(last_used_at > now() - interval '1 minute', false) as noted
  from tokens
 where secret_hash = $1 and revoked_at is null and (expires_at is null or expires_at > now())
