-- Takes one from the bucket $1, which holds $2 and gets one back every $3 seconds. No row where it is empty. The
-- database's clock decides, so that instances agree.
insert into rate_limits as bucket (key, full_at) values ($1, clock_timestamp() + make_interval(secs => $3))
on conflict (key) do update
set full_at = greatest(bucket.full_at, clock_timestamp()) + make_interval(secs => $3)
where bucket.full_at <= clock_timestamp() + make_interval(secs => ($2::float8 - 1) * $3::float8)
returning full_at
