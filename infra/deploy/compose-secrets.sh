#!/bin/sh
# Makes what compose.yaml keeps secret, in the folder `secrets` beside it, which git ignores. Each password is random.
# What is there already stays: docs/tasks.md#change-a-password-or-a-secret says how each is changed. Each container sees its own folder only:
#
#   redis/users.acl                 the users of both Redis, with their passwords
#   projector/redis-url             …
#   api/redis-url, auth-redis-url   …
#   api/cookie-keys                 OAUTH_COOKIE_KEYS
#   api/sign-in-client-secret       SIGN_IN_CLIENT_SECRET: put in what your provider gave you
#   api/oauth-clients.json          OAUTH_CLIENTS: put in the apps that riders may connect (docs/sign-in.md#clients)
#   operator/redis-url, auth-redis-url
set -eu
cd "$(dirname "$0")"
# Empty folders are a container engine's, which was asked too early.
rmdir secrets/* secrets 2>/dev/null || :
[ ! -e secrets ] || { echo "There are secrets in $PWD/secrets already; they stay as they are" >&2; exit 0; }

random() { od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n'; }

# Users of the containers read the files; on this machine, nobody but the owner of the folder gets to them.
umask 022
rm -rf secrets.new
mkdir -m 700 secrets.new
(
  cd secrets.new
  mkdir redis projector api operator
  while read -r line; do
    password=$(random)
    case $line in
      'user operator '*)
        echo "redis://operator:$password@redis:6379" >operator/redis-url
        echo "redis://operator:$password@auth-redis:6379" >operator/auth-redis-url ;;
      'user projector '*) echo "redis://projector:$password@redis:6379" >projector/redis-url ;;
      'user api '*) echo "redis://api:$password@redis:6379" >api/redis-url ;;
      'user sign-in '*) echo "redis://sign-in:$password@auth-redis:6379" >api/auth-redis-url ;;
    esac
    case $line in
      *' >known-to-everybody '*) line="${line%% >*} >$password ${line#*>known-to-everybody }" ;;
    esac
    printf '%s\n' "$line"
  done <../redis-users.acl >redis/users.acl
  random >api/cookie-keys
  echo change-me >api/sign-in-client-secret
  echo '[]' >api/oauth-clients.json
)
mv secrets.new secrets
