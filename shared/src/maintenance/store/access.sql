-- Whether this connection may change partitions: who owns `events`, and whether we are, or may become, that role.
select owner.rolname as owner, current_user = owner.rolname as is_owner,
    pg_has_role(current_user, owner.oid, 'member') as is_member, current_user::text as me
from pg_class c
join pg_roles owner on owner.oid = c.relowner
where c.oid = to_regclass('public.events')
