-- The timeline on which numbers were last given, and the server's own. Null: the server does not tell.
select (select timeline from log_state) as remembered, current_timeline() as current
