#!/bin/sh
# Writes all that the site knows into FILE, while the site runs:  sh deploy/backup.sh FILE
# FILE appears only when it is whole. Redis needs no backup: what waits in it is in the database too.
set -eu
if [ $# -ne 1 ]; then
    echo "usage: sh deploy/backup.sh FILE" >&2
    exit 2
fi
umask 077
docker compose exec -T postgres pg_dump --username=backpass --format=custom backpass >"$1.partial"
docker compose exec -T postgres pg_restore --list <"$1.partial" >/dev/null
mv "$1.partial" "$1"
