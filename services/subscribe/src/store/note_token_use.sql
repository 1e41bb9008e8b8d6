-- Notes that the tokens $1 (uuid[]) are in use, at most once a minute each. Locks their rows, in the order of
-- their ids, so that two processes that note the same ones cannot block each other in a circle.
with used as (
    select id
      from tokens
     where id = any($1) and coalesce(last_used_at < now() - interval '1 minute', true)
     order by id
       for no key update
)
update tokens
   set last_used_at = now()
  from used
 where tokens.id = used.id
