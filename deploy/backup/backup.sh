#!/usr/bin/env bash
# A logical backup: backup.sh <new directory>. The server is found by libpq's variables (PGHOST, PGUSER, …).
# Small, portable between versions, consistent, and taken while everything runs. For a large log use a base backup
# with archived WAL instead (deploy/README.md, Backup).
set -euo pipefail
into=${1:?usage: backup.sh <new directory>}
database=${PGDATABASE:-hooks}
mkdir -m 700 "$into"
# Roles without their passwords: `hooksctl migrate` sets those again.
pg_dumpall --roles-only --no-role-passwords --file "$into/roles.sql"
pg_dump --format custom --file "$into/hooks.dump" "$database"
# A dump that cannot be read is none.
pg_restore --list "$into/hooks.dump" > /dev/null
echo "$into: $(du -sh "$into/hooks.dump" | cut -f1)"
