-- Takes the next number of replays to listeners. The row's lock orders them, so that a reader of "greater than the
-- last" misses none.
update replay_head set last_number = last_number + 1 returning last_number
