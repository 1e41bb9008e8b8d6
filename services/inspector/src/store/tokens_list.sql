-- Tokens, newest first, behind the one made at $5 with the id $6, at most $7: of nobody ($1), of the person $2 (null:
-- all), of the kind $3 (null: all), also those that ended ($4).
select id, name, kind, scopes, owner_id, ephemeral, created_at, expires_at, revoked_at, last_used_at
from tokens
where (not $1 or owner_id is null)
    and ($2::uuid is null or owner_id = $2)
    and ($3::text is null or kind = $3)
    and ($4 or revoked_at is null and (expires_at is null or expires_at > now()))
    and ($5::timestamptz is null or (created_at, id) < ($5, $6::uuid))
order by created_at desc, id desc
limit $7
