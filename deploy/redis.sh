#!/bin/sh
# Redis with two users: the site may do all; runners, whose machines run strangers' code, may send and take
# messages but not erase, list, configure or stop anything. Passwords stay out of the process list.
set -eu
umask 077
cat >/tmp/redis.conf <<CONFIG
user default off
user site on >${REDIS_PASSWORD} ~* &* +@all
user runner on >${RUNNER_REDIS_PASSWORD} ~* &* +@all -@admin -@dangerous
CONFIG
exec redis-server /tmp/redis.conf --bind "*" --dir /data --appendonly yes --appendfsync everysec \
    --maxmemory-policy noeviction
