-- As invites_look, locked: of two who use it at once, the second sees it used.
select id, role, scopes, consumed_at is not null as consumed, expires_at <= now() as expired
from invites where code_hash = $1 for update
