#!/bin/sh
# Grants each user of Kafka what its command needs, and no more (docs/permissions.md). Call it as often as you like:
#
#   infra/deploy/kafka-acls.sh --bootstrap-server kafka:9092 --command-config admin.properties
#
#   --bootstrap-server  the host:port of a broker
#   --command-config    client settings, as Kafka's own tools take them, of a user who may alter ACLs
#   --topic-prefix      KAFKA_TOPIC_PREFIX of the service (ride-calendar.)
#   --group             KAFKA_GROUP of the service (ride-calendar)
#   --user topics=NAME  how Kafka calls a user of the table below, where it has another name; as often as needed
#
# Brokers obey ACLs with authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer.
set -eu
brokers='' admin='' prefix=ride-calendar. group=ride-calendar names=''
while [ $# -gt 0 ]; do
  [ $# -gt 1 ] || { echo "$1 wants a value" >&2; exit 2; }
  case $1 in
    --bootstrap-server) brokers=$2 ;;
    --command-config) admin=$2 ;;
    --topic-prefix) prefix=$2 ;;
    --group) group=$2 ;;
    --user)
      grep -q "^${2%%=*} facts " "$0" && [ -n "${2#*=}" ] && [ "${2#*=}" != "$2" ] ||
        { echo "--user wants one of the users in $0 and its name in Kafka, such as topics=ride-calendar-topics; not $2" >&2; exit 2; }
      names="$names $2" ;;
    *) echo "There is no $1: $0 begins with what there is" >&2; exit 2 ;;
  esac
  shift 2
done
[ -n "$brokers" ] || { echo '--bootstrap-server has to name a broker, as host:port' >&2; exit 2; }
facts='metros districts developer-keys riders rides nights attendance relations'

while read -r user resource operations; do
  case $resource in
    facts) set -- $(for name in $facts; do echo "--topic $prefix$name"; done) ;;
    rejected) set -- --topic "${prefix}rejected" ;;
    group) set -- --group "$group" ;;
    transactions) set -- --transactional-id "$prefix" --resource-pattern-type prefixed ;;
    cluster) set -- --cluster ;;
  esac
  for each in $names; do
    [ "${each%%=*}" != "$user" ] || user=${each#*=}
  done
  for operation in $operations; do set -- "$@" --operation "$operation"; done
  kafka-acls.sh --bootstrap-server "$brokers" ${admin:+--command-config "$admin"} \
    --add --allow-principal "User:$user" "$@" </dev/null
done <<'ACLS'
projector facts Read DescribeConfigs
projector rejected Read Write
projector group Read
topics facts Create Describe DescribeConfigs
topics rejected Create Describe DescribeConfigs
publisher facts Read Write DescribeConfigs
publisher rejected Read Describe DescribeConfigs
publisher transactions Describe Write
publisher cluster IdempotentWrite
simulate facts Read Write
simulate rejected Describe
archive-save facts Read DescribeConfigs
archive-save rejected Read
archive-load facts Read Write DescribeConfigs
archive-load rejected Read Write
ACLS
