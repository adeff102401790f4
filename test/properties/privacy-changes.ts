import type { AnyRecord, Attendance, Night, Relation, Ride, Rider } from '../../schemas/events/records.ts';
import { latestRecords } from '../reference/facts.ts';
import type { History, HistoryRecord } from '../support/worlds/histories.ts';
import * as universe from '../support/worlds/universe.ts';

/** The same history, but for something that certain readers must not be able to tell. */

/** Copies of a topic's records that are no tombstones, changed. Keys stay, unless `key` says otherwise. */
function changing<R>(
  history: History,
  topic: HistoryRecord['topic'],
  change: (record: R) => R,
  key = (record: HistoryRecord): string => record.key,
): History {
  const records = history.records.map((record): HistoryRecord => {
    if (record.topic !== topic) return record;
    const value = record.value && (change(record.value as R) as AnyRecord);
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
    const meeting = { ...record.meeting, place_name: name, district: shown ? district : elsewhere };
    return { ...record, meeting };
  });
}

/** A rider of the universe whose id, handle and name are looked for wherever they must not be. */
export const marked = { id: 'r_-by-name', handle: 'handle-of-77', name: 'Seventy-Seven' };

export function withMarks(history: History): History {
  const { handle, name } = marked;
  return changing<Rider>(history, 'riders', (record) =>
    record.rider === marked.id ? { ...record, handle, name } : record,
  );
}

/** The marked rider is erased at the end. */
export function erased(history: History): History {
  const timestampMs = history.records.at(-1)?.timestampMs ?? 0;
  const place = { partition: 0, offset: 1_000_000, timestampMs };
  return { ...history, records: [...history.records, { topic: 'riders', key: marked.id, value: null, ...place }] };
}

/** Nothing of the marked rider was ever published. */
export function neverThere(history: History): History {
  const records = history.records.filter(({ topic, key }) => {
    const ids = topic === 'riders' || topic === 'relations' ? key.split('/') : key.split('/').slice(2);
    return !(['riders', 'relations', 'attendance'].includes(topic) && ids.includes(marked.id));
  });
  return changing<Ride>({ ...history, records }, 'rides', (record) => ({
    ...record,
    leaders: record.leaders?.filter((leader) => leader !== marked.id),
  }));
}
