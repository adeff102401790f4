import { Fold } from '../../projector/facts/fold.ts';
import type { Attendance, Relation } from '../../schemas/events/records.ts';
import { dayText } from '../../schemas/views/days.ts';
import { recordKey } from '../support/records.ts';
import { bytesHeld, randomFrom } from './measuring.ts';

/** Folds relations or attendances, and tells what they take in memory: in a process of its own, so that nothing else counts. */
export interface FactsMeasured {
  entries: number;
  /** Of the entries, without ids. */
  bytes: number;
  /** Of the riders' ids, interned before the entries came. */
  idBytes: number;
  riders: number;
  foldSeconds: number;
}

const idOf = (rider: number): string => `u_${rider.toString(36).padStart(7, '0')}`;
const stamps = { revision: 1, changed_at: 1 };

/** What is measured must not be collected, though nothing reads it any more. */
let kept: Fold | null = null;

function foldWithRiders(riders: number): { fold: Fold; idBytes: number } {
  const fold = new Fold();
  kept = fold;
  const before = bytesHeld();
  for (let i = 0; i < riders; i++) fold.facts.riderIds.add(idOf(i));
  return { fold, idBytes: bytesHeld() - before };
}

/** Most riders follow a few, some follow hundreds; the known ones are followed by thousands. */
function relations(wanted: number): FactsMeasured {
  const riders = wanted / 20;
  const random = randomFrom(1);
  const { fold, idBytes } = foldWithRiders(riders);
  const before = bytesHeld();
  const start = performance.now();
  let entries = 0;
  while (entries < wanted) {
    const reader = Math.floor(random() ** 2 * riders);
    const other = Math.floor(random() ** 3 * riders);
    if (reader === other || fold.facts.relations.get(reader, other) !== 0) continue;
    const value: Relation = {
      ...{ rider: idOf(reader), other: idOf(other) },
      ...{ follows: true, close: random() < 0.1, flagged: false, blocked: false, ...stamps },
    };
    fold.apply('relations', recordKey('relations', `${value.rider}/${value.other}`), value);
    entries += 1;
  }
  const foldSeconds = (performance.now() - start) / 1000;
  return { entries, bytes: bytesHeld() - before, idBytes, riders, foldSeconds };
}

/** What nights and rides cost is the attendances' too: their numbers, days and counts. */
function attendances(wanted: number): FactsMeasured {
  const riders = wanted / 10;
  const nights = wanted / 25;
  const ridesCount = nights / 10;
  const random = randomFrom(2);
  const { fold, idBytes } = foldWithRiders(riders);
  const before = bytesHeld();
  const start = performance.now();
  const seen = new Set<number>();
  while (seen.size < wanted) {
    const night = Math.floor(random() ** 1.5 * nights);
    const rider = Math.floor(random() ** 2 * riders);
    if (seen.has(night * riders + rider)) continue;
    seen.add(night * riders + rider);
    const day = 20_000 + (night % 400);
    const value: Attendance = {
      ...{ ride: `ride${night % ridesCount}`, day, rider: idOf(rider), response: 'GOING' as const, saved: false },
      ...stamps,
    };
    fold.apply('attendance', recordKey('attendance', `${value.ride}/${dayText(day)}/${value.rider}`), value);
  }
  const entries = seen.size;
  seen.clear();
  const foldSeconds = (performance.now() - start) / 1000;
  return { entries, bytes: bytesHeld() - before, idBytes, riders, foldSeconds };
}

process.on('message', ({ topic, entries }: { topic: 'relations' | 'attendance'; entries: number }) => {
  process.send!(topic === 'relations' ? relations(entries) : attendances(entries));
});
process.on('beforeExit', () => kept);
process.on('SIGTERM', () => process.exit());
