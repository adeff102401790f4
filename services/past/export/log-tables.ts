import { showsNeighbourhood } from '../../../projector/views/night.ts';
import { fieldsOfKey } from '../../../schemas/events/record-keys.ts';
import type { Night, Ride, TopicRecords } from '../../../schemas/events/records.ts';
import { type Cell, type Column, column, texts } from './parquet-table.ts';

/** The topics whose versions are exported. Personal ones only with `--personal`. */
export const publicTopics = ['metros', 'districts', 'rides', 'nights'] as const;
export const personalTopics = ['riders', 'attendance', 'relations'] as const;
export type ExportedTopic = (typeof publicTopics)[number] | (typeof personalTopics)[number];

export interface Discretion {
  /** Tables about riders, and rides' leaders. */
  personal: boolean;
  /** The places of secret meetings. */
  secrets: boolean;
}

/** Columns are named for the record's fields. A tombstone has those of its key alone. */
interface LogTable {
  key: readonly Column[];
  value: readonly Column[];
  /** What is worked out of the record and others. */
  derived?: readonly Column[];
}

const flags = (...names: string[]): Column[] => names.map((name) => column(name, 'flag'));

export const logTables: Record<ExportedTopic, LogTable> = {
  metros: { key: texts('metro'), value: texts('name', 'time_zone') },
  districts: { key: texts('district'), value: texts('metro', 'name', 'kind') },
  rides: {
    key: texts('ride'),
    value: [
      ...texts('title', 'description', 'type', 'metro', 'distance', 'audience', 'leaders'),
      ...flags('posted'),
      ...texts('url'),
    ],
  },
  nights: {
    key: [column('ride'), column('day', 'day')],
    value: [
      column('meet_time', 'time'),
      ...texts('status', 'cancellation_reason', 'place_name', 'district'),
      ...flags('secret', 'show_neighbourhood'),
      ...texts('url'),
    ],
    derived: [column('starts_at', 'instant')],
  },
  riders: { key: texts('rider'), value: texts('handle', 'name') },
  attendance: {
    key: [column('ride'), column('day', 'day'), column('rider')],
    value: [column('response'), ...flags('saved')],
  },
  relations: { key: texts('rider', 'other'), value: flags('follows', 'close', 'flagged', 'blocked') },
};

export function keyCells(topic: ExportedTopic, key: string): Cell[] {
  const fields = fieldsOfKey(topic, key) as Record<string, Cell>;
  return logTables[topic].key.map(({ name }) => fields[name]!);
}

/** `isSecret`: the night's place must be hidden, even if this version does not call it secret. */
export function valueCells<T extends ExportedTopic>(
  topic: T,
  value: TopicRecords[T],
  discretion: Discretion,
  isSecret: boolean,
): Cell[] {
  const fields: object =
    topic === 'nights'
      ? nightFields(value as Night, isSecret && !discretion.secrets)
      : topic === 'rides'
        ? { ...value, leaders: discretion.personal ? JSON.stringify((value as Ride).leaders) : null }
        : value;
  return logTables[topic].value.map(({ name }) => (fields as Record<string, Cell>)[name]!);
}

function nightFields(night: Night, isHidden: boolean): object {
  const { meeting } = night;
  if (!meeting) return { ...night, place_name: null, district: null, secret: null, show_neighbourhood: null };
  if (!isHidden) return { ...night, ...meeting };
  // As in answers, a leader may show a secret place's neighbourhood. An open place is hidden for other reasons, so all of it is.
  const district = meeting.secret && showsNeighbourhood(meeting) ? meeting.district : null;
  return { ...night, ...meeting, place_name: null, district };
}

/** The columns beside the record's fields: when the version counted, and the record's place. */
export const versionColumns: readonly Column[] = [
  column('valid_from', 'instant'),
  column('valid_to', 'instant'),
  column('deleted', 'flag'),
  column('partition', 'int'),
  column('offset', 'long'),
  column('timestamp', 'instant'),
  column('revision', 'long'),
  column('changed_at', 'instant'),
];
