#!/bin/sh
# Makes a backup. Where that is done, it says when, in a file for node_exporter's textfile collector:
#
#   backup.sh archive ./archive       adds what the log has by now to the archive (ride-calendar archive save)
#   backup.sh sign-in ./sign-in.rdb   of sign-in's Redis (AUTH_REDIS_URL), as operator, whose password is in REDISCLI_AUTH
#
# TEXTFILE_DIR: where that file goes. INSTALLATION: the labels of the installation, `namespace="ride-calendar"` by default
# (docs/metrics.md#installations). RIDE_CALENDAR: how the command is called, `npx ride-calendar` by default.
set -eu
umask 077
what=$1
to=$2

case $what in
  archive)
    ${RIDE_CALENDAR:-npx ride-calendar} archive save "$to"
    ;;
  sign-in)
    redis-cli -u "$AUTH_REDIS_URL" --user operator --rdb "$to.new"
    mv "$to.new" "$to"
    ;;
  *)
    echo "Cannot back up $what: want archive or sign-in" >&2
    exit 2
    ;;
esac

said="$TEXTFILE_DIR/ride_calendar_$what.prom"
{
  echo '# HELP ride_calendar_backup_timestamp_seconds When the last backup was finished, in seconds since 1970'
  echo '# TYPE ride_calendar_backup_timestamp_seconds gauge'
  echo "ride_calendar_backup_timestamp_seconds{${INSTALLATION:-namespace=\"ride-calendar\"},backup=\"$what\"} $(date +%s)"
} > "$said.new"
chmod 644 "$said.new"
mv "$said.new" "$said"
