-- Says who listens here: one row for each listener of instance $1, from the arrays $2 id, $3 token, $4 source,
-- $5 connected since, $6 cursor. Only this instance writes these rows.
insert into listeners (id, instance, token_id, source, since, cursor, seen_at)
select id, $1, token_id, source, since, cursor, now()
  from unnest($2::uuid[], $3::uuid[], $4::text[], $5::timestamptz[], $6::bigint[])
       as said(id, token_id, source, since, cursor)
on conflict (id) do update set cursor = excluded.cursor, seen_at = excluded.seen_at
