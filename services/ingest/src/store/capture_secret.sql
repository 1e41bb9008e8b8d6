-- Stores the secret of a handshake. No row is changed where there is one already, unless an operator has allowed
-- another just now: whoever comes second must not take the source over.
-- $1 source, $2 sealed secret
insert into captured_secrets as known (source, sealed)
values ($1, $2)
on conflict (source) do update
    set sealed = excluded.sealed,
        captured_at = clock_timestamp(),
        renewable_until = null
    where known.renewable_until > clock_timestamp()
