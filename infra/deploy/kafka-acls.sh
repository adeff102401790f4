#!/bin/sh
# Grants each user of Kafka what its command needs, and no more (docs/least-rights.md). Call it as often as you like:
#
#   BROKERS=kafka:9092 ADMIN=admin.properties infra/deploy/kafka-acls.sh
#
# ADMIN: a file of client settings, as Kafka's own tools take them, of a user who may alter ACLs. Brokers obey ACLs with
# authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer.
set -eu
: "${BROKERS:?set BROKERS to the host:port of a broker}"
prefix=${KAFKA_TOPIC_PREFIX:-ride-calendar.}
group=${KAFKA_GROUP:-ride-calendar}
facts='metros districts developer-keys riders rides nights attendance relations'

while read -r user resource operations; do
  case $resource in
    facts) set -- $(for name in $facts; do echo "--topic $prefix$name"; done) ;;
    rejected) set -- --topic "${prefix}rejected" ;;
    group) set -- --group "$group" ;;
  esac
  for operation in $operations; do set -- "$@" --operation "$operation"; done
  kafka-acls.sh --bootstrap-server "$BROKERS" ${ADMIN:+--command-config "$ADMIN"} \
    --add --allow-principal "User:$user" "$@" </dev/null
done <<'ACLS'
projector facts Read DescribeConfigs
projector rejected Read Write
projector group Read
topics facts Create Describe DescribeConfigs
topics rejected Create Describe DescribeConfigs
simulate facts Write DescribeConfigs
simulate rejected Describe DescribeConfigs
archive-save facts Read DescribeConfigs
archive-save rejected Read
archive-load facts Read Write DescribeConfigs
archive-load rejected Read Write
ACLS
