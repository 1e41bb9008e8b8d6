-- Subscriptions about which nothing was told for long.
delete from system_notices where withheld = 0 and announced_at < now() - interval '1 day'
