-- Listeners of processes that went without a word. They are written every five seconds.
delete from listeners where seen_at < now() - interval '5 minutes'
