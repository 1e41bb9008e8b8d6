-- Seconds until the bucket $1 has one again.
select extract(epoch from full_at - clock_timestamp())::float8 - ($2::float8 - 1) * $3::float8 as wait from rate_limits where key = $1
