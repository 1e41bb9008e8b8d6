-- Removes the rows of instance $1 whose listeners are not among $2 (uuid[]) any more.
delete from listeners
 where instance = $1 and not (id = any($2))
