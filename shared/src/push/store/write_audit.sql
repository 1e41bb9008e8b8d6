-- What an operator did, in the transaction that did it.
insert into audit (actor, action, subject, affected, details) values ($1, $2, $3, $4, $5)
