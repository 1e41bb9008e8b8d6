-- What there is about the invite whose code hashes to $1.
select id, role, scopes, consumed_at is not null as consumed, expires_at <= now() as expired
from invites where code_hash = $1
