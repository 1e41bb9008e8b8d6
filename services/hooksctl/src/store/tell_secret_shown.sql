-- Writes into the audit that the secret of source $1, captured at $2, is shown. Nothing where it was shown before or
-- another has come since: it must not be shown then.
insert into audit (actor, action, subject, details)
select 'hooksctl sources show-secret', 'source.show_secret', 'source:' || captured.source,
    jsonb_build_object('captured_at', captured.captured_at)
from captured_secrets as captured
where captured.source = $1
    and captured.captured_at = $2
    and not exists (
        select
        from audit
        where audit.subject = 'source:' || captured.source
            and audit.action = 'source.show_secret'
            and audit.at >= captured.captured_at
    )
