-- Ends the invite with the id $1 or the code's hash $2, unless it is used. The row says which it was.
with found as (
    select id, consumed_at is not null as consumed from invites where id = $1 or code_hash = $2 for update
), ended as (
    update invites set expires_at = least(expires_at, now()) where id in (select id from found where not consumed)
)
select id, consumed from found
