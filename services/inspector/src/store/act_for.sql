-- For whom this session acts from now on: the defaults of the audit's columns read it.
select set_config('hooks.person_id', $1, false), set_config('hooks.token_id', $2, false),
    set_config('hooks.session_id', $3, false), set_config('hooks.address', $4, false),
    set_config('hooks.request_id', $5, false)
