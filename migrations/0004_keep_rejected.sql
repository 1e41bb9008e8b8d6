-- Refused requests with what the doctor found, and secrets that providers hand over in a handshake.
-- Builds made for earlier versions know neither and go on working.

insert into schema_versions (version, oldest_build) values (4, 1);

-- The newest hundred of a source and a day at most. Credentials are masked before they get here.
create table rejected_requests (
    id bigint generated always as identity primary key,
    source text not null,
    at timestamptz not null default clock_timestamp(),
    -- The word that was answered, and what explains it; the first reason is the most telling.
    verdict text not null,
    status integer not null,
    certain boolean not null,
    reasons text[] not null,
    method text not null,
    target bytea not null,
    headers bytea not null,
    remote_addr inet,
    -- The first 64 KiB, and how long it was.
    body bytea not null,
    body_bytes bigint not null
);
create index rejected_requests_by_source on rejected_requests (source, id desc);
create index rejected_requests_by_age on rejected_requests (at);

-- One a source, written once; another replaces it only until `renewable_until`, which operators set.
create table captured_secrets (
    source text primary key,
    sealed bytea not null,
    captured_at timestamptz not null default clock_timestamp(),
    renewable_until timestamptz
);
