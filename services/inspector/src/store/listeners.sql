-- Who listens now, of source $1 (null: all). Rows are written every five seconds.
select l.id, l.source, l.since, l.cursor, greatest(0, coalesce(h.last_sequence, 0) - l.cursor) as behind, l.seen_at,
    l.token_id, t.name as token_name, p.email as owner_email
from listeners l
left join source_heads h on h.source = l.source
left join tokens t on t.id = l.token_id
left join people p on p.id = t.owner_id
where l.seen_at > now() - interval '20 seconds' and ($1::text is null or l.source = $1)
order by l.source, l.since
limit 1000
