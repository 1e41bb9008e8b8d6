-- The number of the newest replay request.
select last_number from replay_head
