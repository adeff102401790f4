import { placeOf } from '../../infra/reject-places.ts';
import { followToEnds } from '../../projector/intake/follow-to-ends.ts';
import { whyBad } from '../../projector/intake/validator.ts';
import type { EventLog, Reject, RejectPlace } from '../../projector/ports/event-log.ts';
import { positionOf } from '../../projector/position/position.ts';

export interface BadInLog {
  rejects: Reject[];
  /** Whether the log holds it: bad, or one of those that are known. */
  holds(reject: Reject): boolean;
  /** Whether no later record of its key is in its partition. One without a key has none. */
  isLast(reject: Reject): boolean;
}

/** The bad records that a log holds, up to its present ends. `known`: others, of which to know what the log holds. */
export async function badInLog(log: EventLog, known: readonly Reject[], signal: AbortSignal): Promise<BadInLog> {
  const rejects: Reject[] = [];
  /** The last offset of each key that has a bad record. */
  const last = new Map<string, number>();
  const held = new Set<string>();
  const note = (of: string | null, offset: number): void => {
    if (of !== null) last.set(of, Math.max(offset, last.get(of) ?? 0));
  };
  for (const { raw, offset, ...reject } of known) note(keyText(reject, raw.key), offset);
  const bounds = await log.bounds();
  await followToEnds(log, positionOf(bounds, 'low'), bounds, signal, ({ records }) => {
    for (const record of records) {
      const { topic, partition, offset, timestampMs, keyBytes } = record;
      const of = keyText(record, keyBytes);
      const reason = whyBad(record);
      if (reason !== null) rejects.push({ topic, partition, offset, timestampMs, reason, raw: record.raw() });
      else if (of === null || !last.has(of)) continue;
      note(of, offset);
      held.add(heldText(record, keyBytes));
    }
  });
  const isLast = (reject: Reject): boolean => {
    const of = keyText(reject, reject.raw.key);
    return of === null || last.get(of) === reject.offset;
  };
  return { rejects, isLast, holds: (reject) => held.has(heldText(reject, reject.raw.key)) };
}

const keyText = ({ topic, partition }: Pick<RejectPlace, 'topic' | 'partition'>, key: Buffer | null): string | null =>
  key && `${topic}/${partition} ${key.toString('latin1')}`;

const heldText = (place: RejectPlace, key: Buffer | null): string => `${placeOf(place)} ${key?.toString('latin1')}`;
