import type { ViewWriter } from '../ports/view-writer.ts';
import type { Clock } from '../running/clock.ts';
import { promptMs, seconds, type Waits } from './waits.ts';

interface MeasuredWriterDeps {
  waits: Waits;
  clock: Clock;
  measured(operation: string, seconds: number): void;
}

// A prompt success ends the waits that are named with the call; the last one is the call's own. Reads end no wait for a
// write, because a full store still answers them; nor does a write that finds another fence. Each tag waits for its own
// batch, or to be taken, because one master of a cluster may refuse.
const reads = ['reads'];
const writes = [...reads, 'writes'];
const ofTag = (tag: number): string => `tag ${tag}`;

/** The same writer, with its calls measured and waited for. Closing says nothing about the store. */
export function measuredWriter(writer: ViewWriter, { waits, clock, measured }: MeasuredWriterDeps): ViewWriter {
  const { leadership } = writer;
  const call = async <T>(
    operation: string,
    ends: readonly string[],
    attempt: () => Promise<T>,
    wrote: (result: T) => boolean = () => true,
  ): Promise<T> => {
    const beganMs = clock.nowMs();
    const own = ends.at(-1)!;
    waits.begin('redis', own);
    try {
      const result = await attempt();
      const tookMs = clock.nowMs() - beganMs;
      // A store that always answers late would else never be waited for longer than one answer takes.
      if (tookMs >= promptMs) waits.begin('redis', own, new Error(`an answer took ${seconds(tookMs)}`));
      else for (const what of wrote(result) ? ends : reads) waits.end('redis', what);
      measured(operation, tookMs / 1000);
      return result;
    } catch (error) {
      waits.begin('redis', own, error as Error);
      throw error;
    }
  };
  return {
    commit: (tag, batch, notes) =>
      call(
        'commit',
        [...writes, ofTag(tag)],
        () => writer.commit(tag, batch, notes),
        ({ committed }) => committed,
      ),
    async *list(tags, whole) {
      const iterator = writer.list(tags, whole)[Symbol.asyncIterator]();
      try {
        for (;;) {
          const { done, value } = await call('list', reads, () => iterator.next());
          if (done) return;
          yield value;
        }
      } finally {
        await iterator.return?.();
      }
    },
    read: (names) => call('read', reads, () => writer.read(names)),
    leadership: leadership && {
      ...leadership,
      look: (tags) => call('look', reads, () => leadership.look(tags)),
      coming: (tags) => call('coming', [...tags.map(ofTag), ...writes], () => leadership.coming(tags)),
      take: (tag, seen, doubtful) =>
        call(
          'take',
          [...writes, ofTag(tag)],
          () => leadership.take(tag, seen, doubtful),
          (taken) => taken !== null,
        ),
      free: (tag) => call('free', writes, () => leadership.free(tag)),
    },
    close: () => writer.close(),
  };
}
