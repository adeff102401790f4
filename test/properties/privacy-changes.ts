import type { AnyRecord, Attendance, Night, Relation, Ride } from '../../schemas/events/records.ts';
import { latestRecords } from '../reference/facts.ts';
import type { History, HistoryRecord } from '../support/worlds/histories.ts';
import * as universe from '../support/worlds/universe.ts';

/** The same history, but for something that certain readers must not be able to tell. */

type Change<R> = (record: R, place: HistoryRecord) => R;

/** Copies of a topic's records that are no tombstones, changed. Keys stay, unless `key` says otherwise. */
function changing<R>(
  history: History,
  topic: HistoryRecord['topic'],
  change: Change<R>,
  key = (record: HistoryRecord): string => record.key,
): History {
  const records = history.records.map((record): HistoryRecord => {
    if (record.topic !== topic) return record;
    const value = record.value && (change(record.value as R, record) as AnyRecord);
    return { ...record, key: key(record), value };
  });
  return { ...history, records };
}

/** Noise that says yes or no, again and again. */
const noise = (bits: readonly boolean[]) => {
  let next = 0;
  return (): boolean => bits[next++ % bits.length]!;
};

/** Who says they are going is somebody else, each existing rider another existing one: as many go as before. */
export function othersGo(history: History, shift: number): History {
  const existing = latestRecords(history.records).riders;
  const sets = [true, false].map((is) => universe.riders.filter((rider) => existing.has(rider) === is) as string[]);
  const other = new Map<string, string>();
  for (const set of sets) for (const [i, rider] of set.entries()) other.set(rider, set[(i + shift) % set.length]!);
  const swap = (rider: string): string => other.get(rider) ?? rider;
  return changing<Attendance>(
    history,
    'attendance',
    (record) => ({ ...record, rider: swap(record.rider) }),
    ({ key }) => key.replace(/[^/]*$/, swap),
  );
}

/** A rider flagged others than they did. */
export function flaggedByMaker(history: History, maker: string, bits: readonly boolean[]): History {
  const flagged = noise(bits);
  return changing<Relation>(history, 'relations', (record) =>
    record.rider === maker ? { ...record, flagged: flagged() } : record,
  );
}

/** What others flagged and saved, and whom they follow and block, is as noise has it; but for blocks against the reader. */
export function othersChange(history: History, reader: string, bits: readonly boolean[]): History {
  const yes = noise(bits);
  const relations = changing<Relation>(history, 'relations', (record) => {
    if (record.rider === reader) return record;
    const blocked = record.other === reader ? record.blocked : yes();
    return { ...record, flagged: yes(), follows: yes(), close: yes(), blocked };
  });
  return changing<Attendance>(relations, 'attendance', (record) =>
    record.rider === reader ? record : { ...record, saved: yes() },
  );
}

/** Secret places are others: their names, and their districts too where those are not shown. */
export function secretPlacesElsewhere(history: History, name: string | null): History {
  return changing<Night>(history, 'nights', (record) => {
    if (!record.meeting?.secret) return record;
    const { show_neighbourhood: shown, district } = record.meeting;
    const elsewhere = district === 'alameda' ? 'old-town' : 'alameda';
    return {
      ...record,
      meeting: { ...record.meeting, place_name: name, district: shown ? district : elsewhere },
    };
  });
}

/** What nobody else has: to be looked for wherever it must not be. */
export const erasedMarks = { id: 'Erased-rider_77', handle: 'handle-of-77', name: 'Seventy-Seven' };

/** A rider's id, handle and name are unmistakable. */
export function markedRider(history: History, rider: string): History {
  const marked = (id: string): string => (id === rider ? erasedMarks.id : id);
  const keyed = history.records.map(
    (record): HistoryRecord => ({
      ...record,
      key: ['riders', 'attendance', 'relations'].includes(record.topic)
        ? record.key.split('/').map(marked).join('/')
        : record.key,
    }),
  );
  const renamed = { ...history, records: keyed };
  const riders = changing<{ rider: string }>(renamed, 'riders', (record) =>
    record.rider === rider ? { ...record, rider: erasedMarks.id, ...withoutId(erasedMarks) } : record,
  );
  const rides = changing<Ride>(riders, 'rides', (record) => ({ ...record, leaders: record.leaders?.map(marked) }));
  const going = changing<Attendance>(rides, 'attendance', (record) => ({ ...record, rider: marked(record.rider) }));
  return changing<Relation>(going, 'relations', (record) => ({
    ...record,
    rider: marked(record.rider),
    other: marked(record.other),
  }));
}

const withoutId = ({ handle, name }: typeof erasedMarks) => ({ handle, name });

/** The marked rider is erased at the end. */
export function erased(history: History): History {
  const [last] = history.records.slice(-1);
  const tombstone: HistoryRecord = {
    topic: 'riders',
    key: erasedMarks.id,
    value: null,
    partition: 0,
    offset: 1_000_000,
    timestampMs: last?.timestampMs ?? 0,
  };
  return { ...history, records: [...history.records, tombstone] };
}

/** Nothing of the marked rider was ever published. */
export function neverThere(history: History): History {
  const records = history.records.filter(({ topic, key }) => {
    const ids = topic === 'riders' || topic === 'relations' ? key.split('/') : key.split('/').slice(2);
    return !(['riders', 'relations', 'attendance'].includes(topic) && ids.includes(erasedMarks.id));
  });
  return changing<Ride>({ ...history, records }, 'rides', (record) => ({
    ...record,
    leaders: record.leaders?.filter((leader) => leader !== erasedMarks.id),
  }));
}
