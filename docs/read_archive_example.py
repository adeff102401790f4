"""Which nights were called off, and when? python3 read_archive_example.py FOLDER-OF-AN-ARCHIVE"""
import glob
import sys
from datetime import datetime, timedelta, timezone

import fastavro

def instant(ms, *_):
    # A timestamp may be any 64 bits, and Python has years 1 to 9999.
    ms = max(-62135596800000, min(ms, 253402300799999))
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=ms)

fastavro.read.LOGICAL_READERS['long-timestamp-millis'] = instant

for path in sorted(glob.glob(f'{sys.argv[1]}/ride-calendar.nights/*.avro')):
    with open(path, 'rb') as file:
        for record in fastavro.reader(file):
            night = record['value']   # None: a tombstone
            if night is not None and night['status'] == 'CANCELLED':
                print(record['timestamp'].isoformat(), record['key'], night['cancellation_reason'])
