#!/bin/sh
# Prints the settings of a machine that only judges, from the address of the site's Redis; asks for the
# password of runners (RUNNER_REDIS_PASSWORD in the site's .env):
#     sh deploy/new-runner-env.sh 10.0.0.1:6379 > runner.env
set -eu
if [ $# -ne 1 ]; then
    echo "usage: sh deploy/new-runner-env.sh ADDRESS:PORT > runner.env" >&2
    exit 2
fi
printf 'RUNNER_REDIS_PASSWORD of the site: ' >&2
IFS= read -r password
device=$(nvidia-smi --query-gpu=uuid --format=csv,noheader 2>/dev/null | head -n 1) || true
socket=${DOCKER_SOCKET:-/var/run/docker.sock}
cat <<ENV
COMPOSE_PROJECT_NAME=backpass
REDIS_ADDRESS=$1
RUNNER_REDIS_PASSWORD=$password
# Which kind of hardware this is for the site, and the GPU by the name that nvidia-smi -L prints.
GPU_HARDWARE=gpu
GPU_DEVICE=$device
DOCKER_SOCKET=$socket
DOCKER_GID=$(stat -c %g "$socket")
ENV
