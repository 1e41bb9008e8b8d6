-- Replays to listeners are read within seconds by whoever is connected. The numbering row stays.
delete from replay_requests where requested_at < now() - interval '1 hour'
