#!/usr/bin/env bash
# A physical backup: base-backup.sh <new directory>. Run it where the server trusts you with replication (its own
# machine, or a role with REPLICATION). With archived WAL it can be rolled forward to any moment.
set -euo pipefail
into=${1:?usage: base-backup.sh <new directory>}
pg_basebackup --pgdata "$into" --format tar --gzip --wal-method stream --checkpoint fast
echo "$into: $(du -sh "$into" | cut -f1)"
