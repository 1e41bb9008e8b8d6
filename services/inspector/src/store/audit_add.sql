-- One thing that somebody did or was refused.
insert into audit (actor, person_id, token_id, session_id, address, request_id, action, subject, outcome, affected,
    details)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
