import { fieldsOfKey } from '../../../schemas/events/record-keys.ts';
import type { Night, TopicName, TopicRecords } from '../../../schemas/events/records.ts';
import type { Cell, Column, ColumnType } from './parquet-table.ts';

/** Topics of which every version is exported; personal ones only where that is said. */
export const publicTopics = ['metros', 'districts', 'rides', 'nights'] as const;
export const personalTopics = ['riders', 'attendance', 'relations'] as const;
export type ExportedTopic = (typeof publicTopics)[number] | (typeof personalTopics)[number];

/** What an export may hold. */
export interface Discretion {
  /** Tables about riders, and rides' leaders. */
  personal: boolean;
  /** Where secret meetings are. */
  secrets: boolean;
}

interface LogTable<T extends TopicName> {
  /** The columns that the key is made of: a tombstone has these alone. */
  key: readonly Column[];
  value: readonly Column[];
  keyCells(key: string): Cell[];
  /** `isSecret`: the night's place is not to be told, whatever this version says of it. */
  valueCells(value: TopicRecords[T], discretion: Discretion, isSecret: boolean): Cell[];
}

const column = (name: string, type: ColumnType = 'text'): Column => ({ name, type });
const texts = (...names: string[]): Column[] => names.map((name) => column(name));
const flags = (...names: string[]): Column[] => names.map((name) => column(name, 'flag'));

export const logTables: { [T in ExportedTopic]: LogTable<T> } = {
  metros: {
    key: texts('metro'),
    value: texts('name', 'time_zone'),
    keyCells: (key) => [key],
    valueCells: ({ name, time_zone }) => [name, time_zone],
  },
  districts: {
    key: texts('district'),
    value: texts('metro', 'name', 'kind'),
    keyCells: (key) => [key],
    valueCells: ({ metro, name, kind }) => [metro, name, kind],
  },
  rides: {
    key: texts('ride'),
    value: [
      ...texts('title', 'description', 'type', 'metro', 'distance', 'audience', 'leaders'),
      ...flags('posted'),
      ...texts('url'),
    ],
    keyCells: (key) => [key],
    valueCells: ({ title, description, type, metro, distance, audience, leaders, posted, url }, { personal }) => [
      title,
      description,
      type,
      metro,
      distance,
      audience,
      personal ? JSON.stringify(leaders) : null,
      posted,
      url,
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
    keyCells(key) {
      const { ride, day } = fieldsOfKey('nights', key);
      return [ride, day];
    },
    valueCells: nightCells,
  },
  riders: {
    key: texts('rider'),
    value: texts('handle', 'name'),
    keyCells: (key) => [key],
    valueCells: ({ handle, name }) => [handle, name],
  },
  attendance: {
    key: [column('ride'), column('day', 'day'), column('rider')],
    value: [column('response'), ...flags('saved')],
    keyCells(key) {
      const { ride, day, rider } = fieldsOfKey('attendance', key);
      return [ride, day, rider];
    },
    valueCells: ({ response, saved }) => [response, saved],
  },
  relations: {
    key: texts('rider', 'other'),
    value: flags('follows', 'close', 'flagged', 'blocked'),
    keyCells(key) {
      const { rider, other } = fieldsOfKey('relations', key);
      return [rider, other];
    },
    valueCells: ({ follows, close, flagged, blocked }) => [follows, close, flagged, blocked],
  },
};

function nightCells(night: Night, { secrets }: Discretion, isSecret: boolean): Cell[] {
  const { meet_time, status, cancellation_reason, meeting, url } = night;
  const hidden = isSecret && !secrets;
  // As in answers: a leader may show a secret meeting's neighbourhood, not its place.
  const district = meeting && (!hidden || (meeting.secret && meeting.show_neighbourhood)) ? meeting.district : null;
  return [
    meet_time,
    status,
    cancellation_reason,
    meeting && !hidden ? meeting.place_name : null,
    district,
    meeting ? meeting.secret : null,
    meeting ? meeting.show_neighbourhood : null,
    url,
  ];
}

/** Of every table of the log: when the version counted, and the record that it is. */
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
