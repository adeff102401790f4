import { followToEnds } from '../../projector/intake/follow-to-ends.ts';
import { whyBad } from '../../projector/intake/validator.ts';
import type { EventLog, Reject, RejectPlace } from '../../projector/ports/event-log.ts';
import { positionOf } from '../../projector/position/position.ts';

interface BadInLog {
  rejects: Reject[];
  /** Whether no later record of its key is in its partition. One without a key has none. */
  isLast(reject: Reject): boolean;
}

/** The bad records that a log holds, up to its present ends. `known`: others, of which to know whether they are the last. */
export async function badInLog(log: EventLog, known: readonly Reject[], signal: AbortSignal): Promise<BadInLog> {
  const rejects: Reject[] = [];
  /** The last offset of each key that has a bad record. */
  const last = new Map<string, number>();
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
      if (reason !== null || (of !== null && last.has(of))) note(of, offset);
    }
  });
  const isLast = (reject: Reject): boolean => {
    const of = keyText(reject, reject.raw.key);
    return of === null || last.get(of) === reject.offset;
  };
  return { rejects, isLast };
}

const keyText = ({ topic, partition }: Pick<RejectPlace, 'topic' | 'partition'>, key: Buffer | null): string | null =>
  key && `${topic}/${partition} ${key.toString('latin1')}`;
