#!/bin/bash
# Run once in a new database: TLS on, and nothing else over the network.
set -e
cp /certificates/server.crt /certificates/server.key "$PGDATA/"
chmod 600 "$PGDATA/server.key"
echo "ssl = on" >> "$PGDATA/postgresql.conf"
sed -i 's/^host all all all /hostssl all all all /' "$PGDATA/pg_hba.conf"
