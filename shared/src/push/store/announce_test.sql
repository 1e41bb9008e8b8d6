-- Appends the event of a test to hooks.system; its number and time of arrival.
select append_system_event($1, 'subscription.test', $2, $3) as number
