#!/bin/bash
# Run once in a new primary: a role for the standby, and the right to stream.
set -e
psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" \
  -c "create role replicator with replication login password 'development-only-replicator'"
echo 'host replication replicator all scram-sha-256' >> "$PGDATA/pg_hba.conf"
