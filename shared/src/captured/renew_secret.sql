-- Lets the next handshake of source $1 replace its captured secret, for $2 seconds, and says in the audit that $3 did.
-- Nothing where no secret was captured. The handshake itself closes the door again.
with opened as (
    update captured_secrets
    set renewable_until = clock_timestamp() + make_interval(secs => $2)
    where source = $1
    returning source, renewable_until
), told as (
    insert into audit (actor, action, subject, details)
    select $3, 'source.renew_secret', 'source:' || source, jsonb_build_object('until', renewable_until)
    from opened
)
select renewable_until from opened
