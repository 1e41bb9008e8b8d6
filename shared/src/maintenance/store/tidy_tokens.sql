-- Tokens that ended: ephemeral ones after a day, others after thirty, so that lists can show them meanwhile.
delete from tokens
where least(expires_at, revoked_at) < now() - case when ephemeral then interval '1 day' else interval '30 days' end
