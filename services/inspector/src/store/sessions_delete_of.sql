-- Ends the sessions of the person $1, all but $2.
delete from sessions where person_id = $1 and ($2::uuid is null or id <> $2)
