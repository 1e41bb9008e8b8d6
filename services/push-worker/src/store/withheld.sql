-- What was counted and may be told by now.
select subscription_id, kind from system_notices
where withheld > 0 and announced_at < now() - interval '1 minute'
limit 100
