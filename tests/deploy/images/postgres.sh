#!/bin/bash
# The part of the official image's contract that the compose file relies on: an empty PGDATA becomes a
# cluster with POSTGRES_DB owned by POSTGRES_USER, who needs POSTGRES_PASSWORD except over the local socket.
set -euo pipefail
[ "$1" = postgres ] || exec "$@"

if [ ! -s "$PGDATA/PG_VERSION" ]; then
    mkdir -p "$PGDATA"
    chmod 700 "$PGDATA"
    initdb --username="$POSTGRES_USER" --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD") \
        --auth-local=trust $POSTGRES_INITDB_ARGS
    printf 'host all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
    printf "listen_addresses = '*'\n" >>"$PGDATA/postgresql.conf"
    pg_ctl --wait -o "-c listen_addresses=''" start
    createdb --username="$POSTGRES_USER" --maintenance-db=postgres "$POSTGRES_DB"
    pg_ctl --wait --mode=fast stop
fi
exec "$@"
