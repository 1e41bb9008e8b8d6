-- Puts a new secret in front; the present one holds for $4 seconds more, not at all where that is zero. $3 is the
-- present one, sealed for its new place.
update push_subscriptions
set secret = $2, previous_secret = case when $4::float8 > 0 then $3::bytea end,
    previous_secret_until = case when $4::float8 > 0 then clock_timestamp() + $4::float8 * interval '1 second' end,
    updated_at = clock_timestamp()
where id = $1 and deleted_at is null
returning id
