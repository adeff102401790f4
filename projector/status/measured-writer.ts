import type { ProjectorMetrics } from '../ports/metrics.ts';
import type { BeatResult, CommitResult, ViewWriter } from '../ports/view-writer.ts';
import type { Clock } from '../running/clock.ts';
import { promptMs, seconds, type Waits } from './waits.ts';

interface MeasuredWriterDeps {
  waits: Waits;
  clock: Clock;
  metrics: Pick<ProjectorMetrics, 'storeAnswered'>;
}

// What is waited for: `reads`, `writes`, and `tag 7`, a write to that tag, since one master of a cluster may refuse. A call
// begins the wait that is last in its list. If it succeeds promptly, it ends all of its list: a write shows that the store
// can be read too. A read shows nothing of writes, as a full store still answers it; nor does a write that finds another
// fence.
const reads = ['reads'];
const writes = [...reads, 'writes'];
const ofTag = (tag: number): string => `tag ${tag}`;

const isCommitted = ({ committed }: CommitResult | BeatResult): boolean => committed;

/** The same writer, which says how long each call took and which waits it begins or ends. Closing says nothing about the store. */
export function measuredWriter(writer: ViewWriter, { waits, clock, metrics }: MeasuredWriterDeps): ViewWriter {
  const { leadership, beat } = writer;
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
      // Late is as good as away: if it ended the wait, a store that is always late would never be waited for long.
      if (tookMs >= promptMs) waits.begin('redis', own, new Error(`an answer took ${seconds(tookMs)}`));
      else for (const what of wrote(result) ? ends : reads) waits.end('redis', what);
      metrics.storeAnswered(operation, tookMs / 1000);
      return result;
    } catch (error) {
      waits.begin('redis', own, error as Error);
      throw error;
    }
  };
  return {
    commit: (tag, batch, notes) =>
      call('commit', [...writes, ofTag(tag)], () => writer.commit(tag, batch, notes), isCommitted),
    beat:
      beat && ((tags, notes) => call('beat', [...tags.map(ofTag), ...writes], () => beat(tags, notes), isCommitted)),
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
      isFree: (tag) => call('look', reads, () => leadership.isFree(tag)),
      coming: (tags) => call('coming', [...tags.map(ofTag), ...writes], () => leadership.coming(tags)),
      take: (tag, seen, doubtful) =>
        call('take', [...writes, ofTag(tag)], () => leadership.take(tag, seen, doubtful), Boolean),
      free: (tag) => call('free', [...writes, ofTag(tag)], () => leadership.free(tag)),
    },
    close: () => writer.close(),
  };
}
