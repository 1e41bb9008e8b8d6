#!/usr/bin/env bash
# restore-base.sh <directory of a base backup> <empty data directory>, as the user that runs PostgreSQL. To roll forward
# set restore_command (and recovery_target_time) and `touch recovery.signal` in the data directory before starting: the
# server then begins a new timeline, which ingest notices by itself. Without archived WAL the server goes on as the old
# one; then, before the services start: hooksctl doctor --after-restore
set -euo pipefail
from=${1:?usage: restore-base.sh <directory of a base backup> <empty data directory>}
into=${2:?usage: restore-base.sh <directory of a base backup> <empty data directory>}
[ -z "$(ls -A "$into")" ] || { echo "$into is not empty" >&2; exit 1; }
tar -xzf "$from/base.tar.gz" -C "$into"
mkdir -p "$into/pg_wal"
tar -xzf "$from/pg_wal.tar.gz" -C "$into/pg_wal"
chmod 700 "$into"
