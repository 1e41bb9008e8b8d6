-- Revokes the token $1, if it is of the person $2 (null: whoever's).
update tokens set revoked_at = now()
where id = $1 and revoked_at is null and ($2::uuid is null or owner_id = $2)
