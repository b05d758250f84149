#!/bin/sh
# Prints the settings of a new site with secrets of its own:
#     sh deploy/new-env.sh backpass.example.org > .env && chmod 600 .env
set -eu
if [ $# -ne 1 ]; then
    echo "usage: sh deploy/new-env.sh NAME-OF-THE-SITE > .env" >&2
    exit 2
fi
secret() {
    od -An -N32 -tx1 /dev/urandom | tr -d ' \n'
}
socket=${DOCKER_SOCKET:-/var/run/docker.sock}
group=$(stat -c %g "$socket" 2>/dev/null) || group=
sed -e "s|^DOCKER_SOCKET=.*|DOCKER_SOCKET=$socket|" \
    -e "s|^DOCKER_GID=.*|DOCKER_GID=$group|" \
    -e "s|^ALLOWED_HOSTS=.*|ALLOWED_HOSTS=$1|" \
    -e "s|^CSRF_TRUSTED_ORIGINS=.*|CSRF_TRUSTED_ORIGINS=https://$1|" \
    -e "s|^SECRET_KEY=.*|SECRET_KEY=$(secret)|" \
    -e "s|^POSTGRES_PASSWORD=.*|POSTGRES_PASSWORD=$(secret)|" \
    -e "s|^REDIS_PASSWORD=.*|REDIS_PASSWORD=$(secret)|" \
    -e "s|^RUNNER_REDIS_PASSWORD=.*|RUNNER_REDIS_PASSWORD=$(secret)|" \
    -e "s|^METRICS_TOKEN=.*|METRICS_TOKEN=$(secret)|" \
    "$(dirname "$0")/env.example"
