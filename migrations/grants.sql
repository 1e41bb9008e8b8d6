-- Least privilege, one role a service. Run after every migration, as the owner; safe to repeat.
-- Partitions need no grants of their own: everything goes through the parent.

grant select on schema_versions, source_heads, event_days
    to hooks_ingest, hooks_subscribe, hooks_push_worker, hooks_inspector;
grant select, insert, update, delete on service_instances
    to hooks_ingest, hooks_subscribe, hooks_push_worker, hooks_inspector;

grant select, insert, update on source_heads, event_days to hooks_ingest;
grant select, update on log_state to hooks_ingest;
grant select, insert on events to hooks_ingest;
grant select, insert, delete on handshakes, rejected_requests to hooks_ingest;
grant select, insert, update on captured_secrets to hooks_ingest;

grant select on events, replay_requests, replay_head, tokens to hooks_subscribe;
grant update (last_used_at) on tokens to hooks_subscribe;
grant select, insert, update, delete on listeners to hooks_subscribe;

grant select on events to hooks_push_worker;

grant select on events, listeners, handshakes, replay_requests to hooks_inspector;
grant select on rejected_requests, captured_secrets to hooks_inspector;
grant update (renewable_until) on captured_secrets to hooks_inspector;
grant select, insert on replay_requests to hooks_inspector;
grant select, update on replay_head to hooks_inspector;
grant select, insert, update on tokens to hooks_inspector;

-- Push. The worker moves cursors and deliveries; what a subscription is, operators say.
grant select on claim_protocol, push_subscriptions, subscription_room to hooks_push_worker, hooks_inspector;
grant select, update on subscription_cursors to hooks_push_worker;
grant select, insert, update on deliveries to hooks_push_worker, hooks_inspector;
grant select, insert on attempts to hooks_push_worker;
grant select, update on system_notices to hooks_push_worker;
grant execute on function append_system_event to hooks_push_worker, hooks_inspector;
grant select, insert, update on push_subscriptions, subscription_cursors to hooks_inspector;
grant select on attempts to hooks_inspector, hooks_subscribe;
grant select on deliveries, push_subscriptions, subscription_cursors to hooks_subscribe;
grant select, insert on audit to hooks_inspector;
grant insert on audit to hooks_push_worker;

-- People and what they see. The audit is only ever added to; maintenance, as the owner, ends what is too old.
grant select, insert, update on people, invites, pairings to hooks_inspector;
grant select, insert, update, delete on sessions, idempotency_keys, rate_limits to hooks_inspector;
grant select, insert, update on event_search_progress to hooks_inspector;
grant select, insert on event_search to hooks_inspector;
grant select, insert on samples to hooks_inspector;
