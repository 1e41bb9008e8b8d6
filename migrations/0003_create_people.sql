-- The inspector: people and how they sign in, what they did, the search index beside the log, and samples for plots.
-- Builds made for version 1 and 2 know none of these tables and go on working.

insert into schema_versions (version, oldest_build) values (3, 1);

create table people (
    id uuid primary key,
    email text not null check (length(email) between 3 and 254),
    name text not null check (length(name) between 1 and 200),
    role text not null check (role in ('admin', 'member')),
    -- The sources a member may see and give tokens for; an administrator sees all.
    scopes text[] not null default '{}',
    -- PHC string, argon2id.
    password_hash text not null,
    created_at timestamptz not null default now(),
    deactivated_at timestamptz
);
create unique index people_email on people (lower(email));

alter table tokens add constraint tokens_owner foreign key (owner_id) references people (id);
create index tokens_by_owner on tokens (owner_id) where owner_id is not null;

-- A cookie is `<id>.<secret>`; only the secret's SHA-256 is here.
create table sessions (
    id uuid primary key,
    person_id uuid not null references people (id) on delete cascade,
    secret_hash bytea not null check (length(secret_hash) = 32),
    created_at timestamptz not null default now(),
    last_used_at timestamptz not null default now(),
    expires_at timestamptz not null,
    address inet,
    user_agent text not null default '' check (length(user_agent) <= 256)
);
create index sessions_by_person on sessions (person_id);
create index sessions_expiry on sessions (expires_at);

create table invites (
    id uuid primary key,
    -- SHA-256 of the code, upper case.
    code_hash bytea not null unique check (length(code_hash) = 32),
    role text not null check (role in ('admin', 'member')),
    scopes text[] not null default '{}',
    -- Null: made by hooksctl on the database.
    created_by uuid references people (id),
    -- Made while there was nobody; ends as soon as there is somebody.
    bootstrap bool not null default false,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    consumed_at timestamptz,
    consumed_by uuid references people (id),
    check ((consumed_at is null) = (consumed_by is null) or bootstrap)
);

-- A command line that asks for a token. The token is made when it is fetched, so that none waits here in the clear.
create table pairings (
    id uuid primary key,
    device_hash bytea not null unique check (length(device_hash) = 32),
    user_code text not null unique,
    state text not null default 'pending' check (state in ('pending', 'approved', 'denied', 'done')),
    requested_scopes text[] not null,
    granted_scopes text[],
    person_id uuid references people (id) on delete cascade,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    address inet,
    user_agent text not null default '' check (length(user_agent) <= 256),
    check ((state in ('approved', 'done')) = (granted_scopes is not null and person_id is not null))
);

-- Token buckets as one moment each: the time at which the bucket will be full again.
create table rate_limits (
    key text primary key,
    full_at timestamptz not null
);

-- Answers to creating requests, so that the same request sent twice creates once. Sealed under a key that only the
-- caller has: some of them show a secret.
create table idempotency_keys (
    key_hash bytea primary key check (length(key_hash) = 32),
    request_hash bytea not null check (length(request_hash) = 32),
    status int,
    answer bytea,
    created_at timestamptz not null default now(),
    check ((status is null) = (answer is null))
);

-- Who exactly, from where, in which request. `actor` stays the words for people.
alter table audit
    add column person_id uuid,
    add column token_id uuid,
    add column session_id uuid,
    add column address inet,
    add column request_id text,
    add column outcome text not null default 'done' check (outcome in ('done', 'refused'));
-- The push actions write their rows without knowing of requests: the session says who and from where.
alter table audit
    alter column person_id set default nullif(current_setting('hooks.person_id', true), '')::uuid,
    alter column token_id set default nullif(current_setting('hooks.token_id', true), '')::uuid,
    alter column session_id set default nullif(current_setting('hooks.session_id', true), '')::uuid,
    alter column address set default nullif(current_setting('hooks.address', true), '')::inet,
    alter column request_id set default nullif(current_setting('hooks.request_id', true), '');
create index audit_by_person on audit (person_id, id desc) where person_id is not null;
create index audit_by_action on audit (action, id desc);

-- What can be searched for, beside the log and behind it: ingest never writes here. A term is a 64-bit hash of a name
-- or of a name with its value; a hit is read and compared before it is shown.
create table event_search (
    source text not null,
    sequence bigint not null,
    received_at timestamptz not null,
    terms bigint[] not null,
    primary key (source, sequence, received_at)
) partition by range (received_at);
create index event_search_terms on event_search using gin (terms) with (fastupdate = on, gin_pending_list_limit = 4096);

-- How far each source is indexed.
create table event_search_progress (
    source text primary key,
    sequence bigint not null default 0
);

create function create_search_partition(day date) returns void language plpgsql as $$
declare
    name text := 'event_search_' || to_char(day, 'YYYYMMDD');
    lower timestamptz := day::timestamp at time zone 'UTC';
    upper timestamptz := (day + 1)::timestamp at time zone 'UTC';
begin
    if to_regclass('public.' || name) is null then
        execute format('create table public.%I partition of public.event_search for values from (%L) to (%L)',
            name, lower, upper);
    end if;
end
$$;

-- As before, and the index's partition with it.
create or replace function create_events_partition(day date) returns bool language plpgsql as $$
declare
    name text := 'events_' || to_char(day, 'YYYYMMDD');
    lower timestamptz := day::timestamp at time zone 'UTC';
    upper timestamptz := (day + 1)::timestamp at time zone 'UTC';
begin
    perform create_search_partition(day);
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

do $$
declare
    there text;
begin
    for there in
        select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'public.events'::regclass
    loop
        perform create_search_partition(to_date(right(there, 8), 'YYYYMMDD'));
    end loop;
end
$$;

-- Drops the index's partitions of days that the log no longer has; how many. Called by maintenance.
create function drop_search_partitions() returns int language plpgsql as $$
declare
    gone text;
    dropped int := 0;
begin
    for gone in
        select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'public.event_search'::regclass
            and to_regclass('public.events_' || right(c.relname, 8)) is null
    loop
        execute format('drop table public.%I', gone);
        dropped := dropped + 1;
    end loop;
    return dropped;
end
$$;

-- The last sequence of a source that arrived before a moment, within [low, high): a binary search by the primary key,
-- since arrival times of one source never fall. Null where there is none.
create function sequence_before(wanted text, low timestamptz, high timestamptz, moment timestamptz)
    returns bigint language plpgsql stable as $$
declare
    first_left bigint;
    last_left bigint;
    middle bigint;
    found_sequence bigint;
    found_at timestamptz;
    best bigint;
begin
    select e.sequence, e.received_at into last_left, found_at from events e
    where e.source = wanted and e.received_at >= low and e.received_at < high order by e.sequence desc limit 1;
    if found_at < moment or last_left is null then
        return last_left;
    end if;
    select e.sequence into first_left from events e
    where e.source = wanted and e.received_at >= low and e.received_at < high order by e.sequence limit 1;
    while first_left <= last_left loop
        middle := first_left + (last_left - first_left) / 2;
        select e.sequence, e.received_at into found_sequence, found_at from events e
        where e.source = wanted and e.received_at >= low and e.received_at < high
            and e.sequence >= middle and e.sequence <= last_left
        order by e.sequence limit 1;
        if found_sequence is null or found_at >= moment then
            last_left := middle - 1;
        else
            best := found_sequence;
            first_left := found_sequence + 1;
        end if;
    end loop;
    return best;
end
$$;

-- What went wrong is looked at more often than all of history.
create index deliveries_failed on deliveries (id) where state = 'failed';

-- One number a minute and series, for plots.
create table samples (
    series text not null,
    subject text not null,
    at timestamptz not null,
    value double precision not null,
    primary key (series, subject, at)
);
create index samples_at on samples using brin (at);
