-- The log and what belongs to it: heads, events, days, tokens, replays to listeners, who is alive.
-- Runs in one transaction under hooksctl's advisory lock, as the owner of the tables.

-- Which builds work with this schema. A build is ready if its own version is at most the newest one here
-- and at least that row's oldest_build.
create table schema_versions (
    version int primary key,
    oldest_build int not null check (oldest_build <= version),
    applied_at timestamptz not null default now()
);
insert into schema_versions (version, oldest_build) values (1, 1);

-- The server's WAL timeline, which changes when a standby is promoted. Null where the server does not tell.
create function current_timeline() returns text language sql stable
    as $$ select left(pg_walfile_name(pg_current_wal_lsn()), 8) $$;
do $$
begin
    perform current_timeline();
exception when others then
    create or replace function current_timeline() returns text language sql stable as 'select null::text';
end
$$;

create table log_state (
    one bool primary key default true check (one),
    timeline text
);
insert into log_state (timeline) values (current_timeline());

-- One row per source, locked and bumped in the transaction that stores events: numbers are given in commit
-- order, never reused, and go on after everything was pruned.
create table source_heads (
    source text primary key,
    last_sequence bigint not null default 0 check (last_sequence >= 0),
    last_received_at timestamptz not null default 'epoch'
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
insert into source_heads (source) values ('hooks.system');

-- A promoted standby may lack the last commits, and would give their numbers again. Under another timeline than
-- the remembered one (or when forced, after a restore) every head is moved by a million, once. True if it was.
create function raise_heads(force bool default false) returns bool language plpgsql as $$
declare
    remembered text;
begin
    select timeline into remembered from log_state for update;
    if not force and coalesce(remembered = current_timeline(), true) then
        return false;
    end if;
    perform from source_heads order by source for no key update;
    update source_heads set last_sequence = last_sequence + 1000000;
    update log_state set timeline = current_timeline();
    return true;
end
$$;

create table events (
    source text not null,
    sequence bigint not null check (sequence > 0),
    received_at timestamptz not null,
    event_id text not null,
    dedupe_key bytea not null,
    delivery_id text,
    event_type text,
    provider_timestamp timestamptz,
    method text not null,
    target bytea not null,
    headers bytea not null,
    exact bool not null,
    remote_addr inet,
    body bytea not null,
    body_sha256 bytea not null,
    primary key (source, sequence, received_at)
) partition by range (received_at);
-- Not unique: duplicates are found under the head's lock, within the source's window.
create index events_dedupe on events (source, dedupe_key);
create index events_delivery on events (source, delivery_id) where delivery_id is not null;
do $$
begin
    alter table events alter column body set compression lz4;
    alter table events alter column headers set compression lz4;
exception when feature_not_supported then
    raise notice 'this server has no lz4: bodies are compressed with pglz';
end
$$;

-- Which of a batch's events are in the log already. Called by append while it holds the locks of the heads, so
-- the answer is exact. Planned at each call with the bounds as values, so that only the partitions within the
-- widest window are planned, locked and read (shared/adr/0004-bounds-are-values.md).
-- window_seconds 0: only the very same event counts, which its sender's lane may send again within ten minutes.
create function find_repeats(sources text[], event_ids text[], dedupe_keys bytea[], window_seconds bigint[])
returns table (place bigint, sequence bigint, received_at timestamptz, own bool)
language plpgsql as $$
declare
    lower timestamptz;
    upper timestamptz;
begin
    select clock_timestamp() - make_interval(secs => greatest(600, (select max(w) from unnest(window_seconds) w))),
        max(h.last_received_at)
    into lower, upper
    from source_heads h
    where h.source = any(sources);
    lower := least(lower, upper - (clock_timestamp() - lower));
    return query execute
        'select i.place, e.sequence, e.received_at, e.event_id = i.event_id
        from unnest($1, $2, $3, $4) with ordinality as i(source, event_id, dedupe_key, window_seconds, place)
        join source_heads h on h.source = i.source
        cross join lateral (
            select sequence, received_at, event_id
            from events
            where source = i.source
                and dedupe_key = i.dedupe_key
                and received_at >= $5
                and received_at <= $6
                and (event_id = i.event_id
                    or received_at > greatest(h.last_received_at, clock_timestamp())
                        - make_interval(secs => i.window_seconds))
            order by event_id <> i.event_id, sequence
            limit 1
        ) e'
        using sources, event_ids, dedupe_keys, window_seconds, lower, upper;
end
$$;

-- Where a source's sequences lie in time, so that every statement on events can bound received_at.
-- last_sequence is null for the source's newest day.
create table event_days (
    source text not null,
    day date not null,
    first_sequence bigint not null,
    last_sequence bigint check (last_sequence >= first_sequence),
    primary key (source, day)
);
create index event_days_range on event_days (source, first_sequence);

-- Makes the partition for one UTC day; does nothing where it exists. Created apart, then attached, so that
-- the parent is locked for an instant only. Called by maintenance, migrate and prune.
create function create_events_partition(day date) returns bool language plpgsql as $$
declare
    name text := 'events_' || to_char(day, 'YYYYMMDD');
    lower timestamptz := day::timestamp at time zone 'UTC';
    upper timestamptz := (day + 1)::timestamp at time zone 'UTC';
begin
    if to_regclass('public.' || name) is not null then
        return false;
    end if;
    execute format(
        'create table public.%I (like public.events including defaults including constraints including storage including compression)',
        name);
    execute format(
        'alter table public.%I add constraint %I check (received_at >= %L and received_at < %L)',
        name, name || '_range', lower, upper);
    execute format(
        'alter table public.events attach partition public.%I for values from (%L) to (%L)', name, lower, upper);
    execute format('alter table public.%I drop constraint %I', name, name || '_range');
    return true;
end
$$;

create table tokens (
    id uuid primary key,
    name text not null check (length(name) between 1 and 200),
    kind text not null check (kind in ('listener', 'pat')),
    scopes text[] not null,
    secret_hash bytea not null unique check (length(secret_hash) = 32),
    owner_id uuid,
    ephemeral bool not null default false,
    created_at timestamptz not null default now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz
);

-- Replays to the listeners that are connected now. Numbered under the lock of the one head row, so that a
-- reader of `number > last` misses none.
create table replay_head (
    one bool primary key default true check (one),
    last_number bigint not null default 0
);
insert into replay_head default values;
create table replay_requests (
    number bigint primary key,
    source text not null,
    sequence bigint not null,
    received_at timestamptz not null,
    requested_by text not null,
    requested_at timestamptz not null default clock_timestamp()
);

-- Who is alive and who listens. Information for people; nothing depends on it.
create table service_instances (
    id uuid primary key,
    service text not null,
    version text not null,
    config_hash text not null,
    started_at timestamptz not null,
    seen_at timestamptz not null
);
create table listeners (
    id uuid primary key,
    instance uuid not null,
    token_id uuid not null,
    source text not null,
    since timestamptz not null,
    cursor bigint not null,
    seen_at timestamptz not null
);

-- Answered handshakes (challenges of providers), newest 20 a source. Never part of the log.
create table handshakes (
    id bigint generated always as identity primary key,
    source text not null,
    at timestamptz not null default clock_timestamp(),
    kind text not null,
    outcome text not null
);
create index handshakes_by_source on handshakes (source, id desc);

do $$
begin
    for offset_days in -1 .. 7 loop
        perform create_events_partition((now() at time zone 'UTC')::date + offset_days);
    end loop;
end
$$;
