-- Says something on hooks.system, or counts it. In a transaction of its own.
select append_system_event($1, $2, $3, $4, $5) as number
