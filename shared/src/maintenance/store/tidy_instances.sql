-- Processes that went without a word. They write every ten seconds.
delete from service_instances where seen_at < now() - interval '5 minutes'
