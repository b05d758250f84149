#!/bin/sh
# Puts the database back as it was when FILE was written:  sh deploy/restore.sh FILE
# What the site knows now is lost: back it up first.
set -eu
if [ $# -ne 1 ] || [ ! -r "$1" ]; then
    echo "usage: sh deploy/restore.sh FILE, where FILE was written by deploy/backup.sh" >&2
    exit 2
fi
in_postgres() {
    docker compose exec -T postgres "$@"
}
in_postgres pg_restore --list <"$1" >/dev/null
docker compose stop web results scheduler
in_postgres dropdb --username=backpass --maintenance-db=postgres --force --if-exists backpass
in_postgres createdb --username=backpass --maintenance-db=postgres backpass
in_postgres pg_restore --username=backpass --dbname=backpass --exit-on-error --single-transaction <"$1"
# Messages and cached pages are of the database that was; all of them can be made again.
docker compose exec -T redis sh -c \
    'REDISCLI_AUTH="$REDIS_PASSWORD" redis-cli --no-auth-warning --user site flushall' </dev/null
# The backup may be of an older version: migrations run again before the site comes back.
docker compose up --detach
