-- The newest audit rows: $1 subject, $2 only ids below, $3 how many.
select id, at, actor, action, subject, affected, details from audit
where ($1::text is null or subject = $1) and ($2::bigint is null or id < $2)
order by id desc limit $3
