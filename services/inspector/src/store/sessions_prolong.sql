-- The session $1 is used: it now lasts $2 seconds from now.
update sessions set last_used_at = now(), expires_at = now() + make_interval(secs => $2) where id = $1
