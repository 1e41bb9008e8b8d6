-- An invite $1 with the code's hash $2 for an administrator, good for $3 seconds, and its row in the audit. Nothing
-- where there are people, unless $4 is true. Made while there is nobody, it ends when there is somebody.
with made as (
    insert into invites (id, code_hash, role, bootstrap, expires_at)
    select $1, $2, 'admin', not exists (select from people), now() + make_interval(secs => $3)
    where $4 or not exists (select from people)
    returning id, expires_at
), told as (
    insert into audit (actor, action, subject, details)
    select 'hooksctl admin init', 'invite.create', 'invite:' || made.id, jsonb_build_object('role', 'admin')
    from made
)
select expires_at from made
