-- Invites, newest first, used or not ($1, null: all), behind the one made at $2 with the id $3, at most $4.
select id, role, scopes, bootstrap, created_by, created_at, expires_at, consumed_at, consumed_by
from invites
where ($1::bool is null or $1 = (consumed_at is not null))
    and ($2::timestamptz is null or (created_at, id) < ($2, $3::uuid))
order by created_at desc, id desc
limit $4
