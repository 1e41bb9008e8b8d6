-- Tells on hooks.system that a subscription lost events.
select append_system_event($1, 'backlog.expired', $2, $3, $4) as number
