import { afterEach, expect, it, vi } from 'vitest';
import {
  apiReadiness,
  logReadiness,
  projectorReadiness,
  readyOrAwhile,
  watchedReads,
} from '../../../../services/serve/http/readiness.ts';
import { keptLog } from '../../../support/processes/heard.ts';
import { idleStatus } from '../../../support/processes/metrics.ts';

const unready = (reason: string) => ({ ready: false as const, reason });
const starting = unready('starting');
afterEach(() => void vi.useRealTimers());

// docs/rules.md#ready-api
it('an API that was ready once stays ready, and its note says why reads fail, and what else does not work', async () => {
  let state: Awaited<ReturnType<Parameters<typeof watchedReads>[0]['ready']>> = starting;
  const reads = watchedReads({ ready: async () => state });
  let trouble: string | null = 'no topics';
  const readiness = apiReadiness(
    reads,
    () => trouble,
    () => trouble && 'nobody can sign in',
  );
  expect(await readiness()).toEqual(starting);
  trouble = null;
  state = { ready: true };
  // The process itself looks: nobody has asked its /readyz meanwhile.
  await reads.ready();
  state = unready('away');
  expect(await readiness()).toEqual({ ready: true, note: 'reads get 503: away' });
  trouble = 'the projector has ended';
  state = { ready: true, note: 'a right' };
  expect(await readiness()).toEqual({ ready: true, note: `${trouble}; a right; nobody can sign in` });
});

it('a projector’s note says what keeps views from following the log, then what else is to be known; alone it is no reason', async () => {
  const of = (ready: boolean, troubles: string[], notes: string[]) =>
    projectorReadiness(() => ({ ready, status: () => ({ ...idleStatus, troubles, notes }) }))();
  expect(await of(true, [], [])).toEqual({ ready: true });
  expect(await of(true, ['no riders'], ['misplaced'])).toEqual({ ready: true, note: 'no riders; misplaced' });
  const reason = 'the views are not yet at the ends of the log sampled at the start';
  expect(await of(false, [], ['misplaced'])).toEqual({ ready: false, reason });
  expect(await of(false, ['no riders'], [])).toEqual({ ready: false, reason: `${reason}: no riders` });
});

it('a process listens once reads can be answered, after 2 s of looking whatever it finds, or once it is told to stop', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  /** How often it looks, where each look takes half a second. */
  const looks = async (readyAt: number, stopAt: number) => {
    const stop = new AbortController();
    let count = 0;
    const ready = async () => {
      vi.advanceTimersByTime(500);
      if (++count === stopAt) stop.abort();
      return count === readyAt ? ({ ready: true } as const) : starting;
    };
    await readyOrAwhile({ ready }, stop.signal);
    return count;
  };
  expect([await looks(0, 0), await looks(2, 0), await looks(0, 3)]).toEqual([4, 2, 3]);
});

it('the log says when reads get 503, each reason once, when they are answered again, and each note once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const stop = new AbortController();
  const { lines: logged, log } = keptLog();
  const away = unready('away');
  const noted = { ready: true as const, note: 'a note' };
  const states = [away, away, unready('empty'), noted, noted, away, noted, { ready: true as const }];
  const ready = async () => states.shift()!;
  const done = logReadiness({ ready }, log, stop.signal);
  // A first connection takes a moment; then every 5 s.
  await vi.advanceTimersByTimeAsync(1_400);
  expect(logged).toEqual([]);
  await vi.advanceTimersByTimeAsync(100 + 7 * 5_000);
  const [refused, answered] = ['Reads get 503: away', 'Reads are answered'];
  const note = `${answered}, but a note`;
  expect(logged).toEqual([refused, 'Reads get 503: empty', answered, note, refused, answered]);
  expect(states).toEqual([]);
  stop.abort();
  await done;
});
