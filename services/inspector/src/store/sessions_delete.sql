-- Ends the session $1, if it is of the person $2 (null: whoever's).
delete from sessions where id = $1 and ($2::uuid is null or person_id = $2)
