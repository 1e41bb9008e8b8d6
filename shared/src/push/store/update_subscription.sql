-- Changes a definition; null leaves a column as it is ($9 and $12 say whether rate and retry are given at all).
update push_subscriptions
set name = coalesce($2, name), url = coalesce($3, url), signing = coalesce($4, signing),
    max_in_flight = coalesce($5, max_in_flight), ordered = coalesce($6, ordered),
    on_failure = coalesce($7, on_failure),
    rate = case when $9::bool then $8 else rate end,
    preserve_method = coalesce($10, preserve_method),
    retry = case when $12::bool then $11::jsonb else retry end,
    forward_credentials = coalesce($13, forward_credentials), record_response = coalesce($14, record_response),
    updated_at = clock_timestamp()
where id = $1 and deleted_at is null
returning id
