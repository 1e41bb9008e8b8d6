-- The secret that source $1's provider handed over, and when it was shown to somebody since it came.
select captured.sealed, captured.captured_at, (
    select max(audit.at)
    from audit
    where audit.subject = 'source:' || captured.source
        and audit.action = 'source.show_secret'
        and audit.at >= captured.captured_at
) as shown_at
from captured_secrets as captured
where captured.source = $1
