#!/usr/bin/env bash
# Into an empty database: restore.sh <directory of a backup>. The server is found by libpq's variables; the user must be
# a superuser or the one who made the backup. Afterwards, with the services still stopped:
#   hooksctl migrate                  # the roles' passwords, and a newer build's migrations
#   hooksctl doctor --after-restore   # raises the numbers past whatever was given after the backup
set -euo pipefail
from=${1:?usage: restore.sh <directory of a backup>}
database=${PGDATABASE:-hooks}
if [ "$(psql -AtX -d "$database" -c "select count(*) from pg_tables where schemaname = 'public'")" != 0 ]; then
  echo "the database $database is not empty; restore into a new one" >&2
  exit 1
fi
# Roles that are there already are no fault.
psql -qX -d "$database" -f "$from/roles.sql" 2> >(grep -v 'already exists' >&2) || true
pg_restore --exit-on-error --single-transaction --dbname "$database" "$from/hooks.dump"
psql -qX -d "$database" -c 'analyze'
echo "restored; now: hooksctl migrate, then hooksctl doctor --after-restore"
