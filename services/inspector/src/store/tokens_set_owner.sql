-- Gives the token $1 to the person $2, or to nobody.
update tokens set owner_id = $2 where id = $1
