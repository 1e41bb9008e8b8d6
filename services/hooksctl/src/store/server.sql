-- What doctor asks a server first.
select current_setting('server_version_num')::int as version,
       current_setting('server_version') as version_text,
       pg_is_in_recovery() as standby,
       current_setting('transaction_read_only') = 'on' as read_only,
       current_setting('fsync') = 'on' as fsync,
       current_user::text as role
