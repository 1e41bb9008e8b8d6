-- Push: who is subscribed, what is owed, what was tried. The laws named here (L1, L4, …) are written out in
-- services/push-worker/README.md. Builds made for version 1 know none of these tables and go on working.

insert into schema_versions (version, oldest_build) values (2, 1);

-- The protocol by which workers claim, fan out and record (L12). Each of those statements compares it with the
-- worker's own; a migration that changes what a claim means raises it.
create table claim_protocol (
    one bool primary key default true check (one),
    version int not null
);
insert into claim_protocol (version) values (1);

-- Ids sort by age under the collation "C", which is also the fastest to compare.

-- What a subscription is. Changed by operators only; what changes with every claim is in subscription_cursors.
create table push_subscriptions (
    id text collate "C" primary key,
    name text not null check (length(name) between 1 and 200),
    source text not null,
    url text not null check (length(url) between 1 and 2048),
    signing text not null default 'hooks',
    -- Sealed (AES-256-GCM); the id and the column's name are authenticated with them.
    secret bytea not null,
    previous_secret bytea,
    previous_secret_until timestamptz,
    max_in_flight int not null default 10 check (max_in_flight between 1 and 1000),
    rate real check (rate > 0),
    ordered bool not null default false,
    -- What an ordered subscription does once a delivery has failed for good: go on without it, or stop.
    on_failure text not null default 'park' check (on_failure in ('park', 'stop')),
    preserve_method bool not null default false,
    forward_credentials bool not null default false,
    record_response int not null default 0 check (record_response between 0 and 1024),
    -- Null: the service's own schedule.
    retry jsonb,
    created_at timestamptz not null default now(),
    created_by text not null,
    updated_at timestamptz not null default now(),
    deleted_at timestamptz,
    check ((previous_secret is null) = (previous_secret_until is null))
);

-- Names are how declared subscriptions are found again; a deleted one gives its name back.
create unique index push_subscriptions_name on push_subscriptions (name) where deleted_at is null;

-- Where a subscription stands. Every claim, and every operator's action on it, locks this row first, so the row
-- is the place where they come one after the other.
create table subscription_cursors (
    subscription_id text collate "C" primary key references push_subscriptions (id) on delete cascade,
    source text not null,
    -- Last sequence for which a delivery was made (or which was passed over because its event is gone).
    cursor bigint not null check (cursor >= 0),
    state text not null default 'active' check (state in ('active', 'paused', 'disabled', 'deleted')),
    state_reason text,
    state_by text,
    state_at timestamptz not null default now(),
    last_served timestamptz not null default 'epoch',
    -- Requests that `rate` still allows at rate_at.
    rate_left real not null default 1,
    rate_at timestamptz not null default now(),
    -- Timeouts and refused connections in a row; from five on the circuit is open and probe_at is the next try.
    strikes int not null default 0 check (strikes >= 0),
    probe_at timestamptz,
    -- Whether the last attempt succeeded.
    proven bool not null default false,
    failing_since timestamptz
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- One event owed to one subscription.
create table deliveries (
    id text collate "C" primary key,
    subscription_id text collate "C" not null,
    source text not null,
    sequence bigint not null,
    -- Of the event: where to look for it.
    received_at timestamptz not null,
    state text not null check (state in ('pending', 'processing', 'delivered', 'failed', 'cancelled')),
    -- Requests of its whole life; only rises, and numbers the history (L6).
    attempts int not null default 0 check (attempts >= 0),
    -- Requests of the present cycle; what the allowance is measured on.
    cycle_attempts int not null default 0 check (cycle_attempts between 0 and attempts),
    next_attempt_at timestamptz not null,
    due_because text not null default 'new'
        check (due_because in ('new', 'schedule', 'retry_after', 'replay', 'given_back')),
    claim_token uuid,
    claim_expires_at timestamptz,
    claimed_by text,
    -- Whether this claim was made alone, because the one before it was lost (L11).
    claim_alone bool not null default false,
    lost_claims int not null default 0 check (lost_claims >= 0),
    replayed bool not null default false,
    -- Why it failed.
    failure text check (length(failure) <= 200),
    created_at timestamptz not null default now(),
    completed_at timestamptz,
    -- L1
    constraint processing_has_a_token check ((state = 'processing') = (claim_token is not null)),
    constraint processing_has_a_lease check ((state = 'processing') = (claim_expires_at is not null)),
    constraint terminal_is_completed check
        ((state in ('delivered', 'failed', 'cancelled')) = (completed_at is not null)),
    constraint failed_has_a_reason check ((state = 'failed') = (failure is not null)),
    -- Making it twice is refused, so fanning out twice is harmless.
    unique (subscription_id, source, sequence)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0);
-- The one index that claims use. An expired lease is simply due again: nobody has to sweep.
create index deliveries_due on deliveries (subscription_id, (coalesce(claim_expires_at, next_attempt_at)))
    where state in ('pending', 'processing');
-- What operators look for first, and replay.
create index deliveries_failed_by_subscription on deliveries (subscription_id, id) where state = 'failed';
-- For the purge of history, which reads old rows only.
create index deliveries_created on deliveries using brin (created_at) with (autosummarize = on, pages_per_range = 16);

-- One HTTP request that went out. L4: numbered without a gap, under the delivery's lock.
create table attempts (
    delivery_id text collate "C" not null references deliveries (id) on delete cascade,
    number int not null check (number > 0),
    -- The claim it was made under: recording it twice is recognised by this.
    claim_token uuid not null,
    started_at timestamptz not null,
    duration_ms int not null check (duration_ms >= 0),
    outcome text not null
        check (outcome in ('succeeded', 'gone', 'http_error', 'timeout', 'network_error', 'blocked', 'unsendable')),
    status int check (status between 100 and 999),
    error text check (length(error) <= 500),
    -- Scheme, host and path as used; never the query.
    url text not null check (length(url) <= 2048),
    worker text not null,
    -- Recorded by a worker whose claim had been superseded (L5).
    late bool not null,
    response bytea check (length(response) <= 1024),
    primary key (delivery_id, number)
);

-- What may start now for a subscription, counted under its cursor row's lock, in a statement of its own (so that
-- the snapshot is newer than the lock). `busy`: claims whose lease holds. `open`: deliveries not yet at an end.
create view subscription_room as
select c.subscription_id, c.source, c.cursor, s.ordered, o.busy, o.open,
    greatest(0, least(
        s.max_in_flight - o.busy,
        case when s.ordered then 1 - o.busy end,
        case when c.probe_at is not null then 1 - o.busy end,
        case when s.rate is not null then floor(least(greatest(s.rate, 1),
            c.rate_left + extract(epoch from clock_timestamp() - c.rate_at)::real * s.rate))::int end))::int as room
from subscription_cursors c
join push_subscriptions s on s.id = c.subscription_id
cross join lateral (
    -- Both counts stay cheap where an operator has replayed a million: what is busy is due in the future only.
    select
        (select count(*) from deliveries d
         where d.subscription_id = c.subscription_id and d.state = 'processing'
             and coalesce(d.claim_expires_at, d.next_attempt_at) > statement_timestamp())::int as busy,
        (select count(*) from (
            select from deliveries d
            where d.subscription_id = c.subscription_id and d.state in ('pending', 'processing')
            limit 1000) open)::int as open
    -- Keeps the planner from dissolving this into one count for each mention.
    offset 0
) o;

-- What the relay says about itself on the source `hooks.system`: at most one event a subscription, kind and
-- minute; what comes in between is counted and told with the next.
create table system_notices (
    subscription_id text not null,
    kind text not null,
    announced_at timestamptz not null default '-infinity',
    withheld int not null default 0,
    details jsonb,
    primary key (subscription_id, kind)
);

-- Appends an event to `hooks.system`, or counts it. The number of the event, null where it was only counted.
-- The rules of the log hold: the head is locked, numbers come in commit order, the day's bounds are kept, and
-- nothing is written under a WAL timeline whose heads have not been raised. `happened` 0 sends what was withheld.
create function append_system_event(about text, kind text, event_id text, details jsonb, happened int default 1)
    returns bigint language plpgsql security definer set search_path = public, pg_temp as $$
declare
    notice system_notices;
    head source_heads;
    moment timestamptz;
    number bigint;
    content bytea;
    timeline_holds bool;
begin
    insert into system_notices (subscription_id, kind) values (about, append_system_event.kind) on conflict do nothing;
    select * into strict notice from system_notices n
    where n.subscription_id = about and n.kind = append_system_event.kind for update;
    if notice.withheld + happened = 0 then
        return null;
    end if;
    select coalesce(timeline = current_timeline(), true) into timeline_holds from log_state;
    if not timeline_holds
        or notice.announced_at > clock_timestamp() - interval '1 minute'
            and append_system_event.kind <> 'subscription.test' then
        update system_notices n
        set withheld = notice.withheld + happened,
            details = coalesce(append_system_event.details, n.details)
        where n.subscription_id = about and n.kind = append_system_event.kind;
        return null;
    end if;
    select * into strict head from source_heads where source = 'hooks.system' for no key update;
    moment := greatest(head.last_received_at, clock_timestamp());
    number := head.last_sequence + 1;
    content := convert_to(jsonb_build_object(
        'type', append_system_event.kind, 'subscription_id', about, 'count', notice.withheld + happened,
        'at', to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'data', coalesce(append_system_event.details, notice.details))::text, 'UTF8');
    insert into events (source, sequence, received_at, event_id, dedupe_key, event_type, method, target, headers, exact,
        body, body_sha256)
    values ('hooks.system', number, moment, append_system_event.event_id,
        sha256(convert_to(append_system_event.event_id, 'UTF8')), append_system_event.kind, 'POST', '/hooks.system',
        convert_to('Content-Type:application/json' || E'\n', 'UTF8'), true, content, sha256(content));
    update source_heads set last_sequence = number, last_received_at = moment where source = 'hooks.system';
    if not exists (select from event_days d where d.source = 'hooks.system' and d.day = (moment at time zone 'UTC')::date)
    then
        update event_days d set last_sequence = greatest(head.last_sequence, d.first_sequence)
        where d.source = 'hooks.system' and d.last_sequence is null;
        insert into event_days (source, day, first_sequence)
        values ('hooks.system', (moment at time zone 'UTC')::date, number);
    end if;
    update system_notices n set announced_at = clock_timestamp(), withheld = 0, details = null
    where n.subscription_id = about and n.kind = append_system_event.kind;
    return number;
end
$$;
revoke execute on function append_system_event from public;

-- What operators did.
create table audit (
    id bigint generated always as identity primary key,
    at timestamptz not null default clock_timestamp(),
    actor text not null,
    action text not null,
    subject text not null,
    affected bigint not null default 1,
    details jsonb
);
create index audit_by_subject on audit (subject, id desc);
