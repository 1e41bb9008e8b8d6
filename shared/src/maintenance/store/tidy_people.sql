-- What has had its time around people: ended sessions, pairings after a day, invites nobody used after thirty days and
-- used ones after a year, buckets that are full again, answers to creating requests after a day, samples after eight.
with ended_sessions as (delete from sessions where expires_at < now() returning 1),
ended_pairings as (delete from pairings where expires_at < now() - interval '1 day' returning 1),
ended_invites as (
    delete from invites
    where consumed_at is null and expires_at < now() - interval '30 days' or consumed_at < now() - interval '365 days'
    returning 1),
full_buckets as (delete from rate_limits where full_at < now() - interval '1 hour' returning 1),
old_answers as (delete from idempotency_keys where created_at < now() - interval '1 day' returning 1),
old_samples as (delete from samples where at < now() - interval '8 days' returning 1)
select (select count(*) from ended_sessions) + (select count(*) from ended_pairings)
    + (select count(*) from ended_invites) as people,
    (select count(*) from full_buckets) + (select count(*) from old_answers) + (select count(*) from old_samples) as rest
