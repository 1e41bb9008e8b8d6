-- The invite $1 is used by the person $2; invites made while there was nobody end with it.
update invites
set consumed_at = now(), consumed_by = case when id = $1 then $2::uuid end
where id = $1 or bootstrap and consumed_at is null
