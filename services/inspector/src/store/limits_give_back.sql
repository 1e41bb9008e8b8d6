-- Puts one back into the bucket $1.
update rate_limits set full_at = full_at - make_interval(secs => $2) where key = $1
