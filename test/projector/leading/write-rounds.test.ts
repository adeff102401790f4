import { expect, it } from 'vitest';
import { writeRounds } from '../../../projector/leading/write-rounds.ts';
import { silentMsMax } from '../../../projector/ports/leading.ts';
import { turns } from '../../support/stores/event-loop-turns.ts';
import { positionAt } from '../../support/stores/placed-log.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';

const position = positionAt();

interface Round {
  /** What the round writes, and how long that takes; whether every tag answered. */
  bytes?: number;
  tookMs?: number;
  all?: boolean;
  /** What is so once it is written. */
  idle?: boolean;
  doubts?: number;
  /** How the fold of the log ends that begins before the next round: at once, with the next one, or never. */
  folded?: 'at once' | 'late' | 'never' | Error;
}

/** One round after another as told, and what happens between them. */
async function paced(planned: Round[]): Promise<unknown[][]> {
  const done: unknown[][] = [];
  const { stop, signal, clock } = sharedDeps();
  let at = -1;
  const late: (() => void)[] = [];
  const now = (): Round => planned[at] ?? {};
  const proof = { doubts: 0 };
  const lanes = { bytesWritten: 0, proof, beginStamping: (doubts: number) => void done.push(['stamp', doubts]) };
  const foldToEnds = async (): Promise<void> => {
    const { folded = 'at once' } = now();
    done.push(['fold', folded]);
    if (folded instanceof Error) throw folded;
    for (const end of late.splice(0)) end();
    if (folded === 'late') await new Promise<void>((resolve) => late.push(resolve));
    if (folded === 'never') await new Promise(() => {});
  };
  const rounds = {
    async run(position: unknown) {
      await turns();
      at += 1;
      done.push(['round', position]);
      const { bytes = 0, tookMs = 0, all = true, doubts } = now();
      clock.ms += tookMs;
      lanes.bytesWritten += bytes;
      proof.doubts = doubts ?? proof.doubts;
      if (at === planned.length - 1) stop.abort();
      return all;
    },
    get idle() {
      return now().idle ?? true;
    },
  };
  const changes = { begin: () => 40 + at, written: (...of: unknown[]) => void done.push(['written', ...of]) };
  const folding = { position, moved: { waitAtMost: async (ms: number) => void done.push(['wait', ms]) } };
  // A minute passes in three rounds.
  clock.sleep = async (ms) => {
    if (ms === silentMsMax) for (const begun = at; at < begun + 3; ) await turns();
    else done.push(['sleep', ms]);
  };
  const onStand = (): void => void done.push(['stands']);
  await writeRounds({ rounds, lanes, folding, foldToEnds, changes, fanOuts: { told: 3 }, clock, signal, onStand });
  return done;
}
const round = ['round', position];
const wait = ['wait', 1_000];

it('rounds follow one another while there is something to write, with a pause where that is over 20 MB a second', async () => {
  const heavy = { idle: false, bytes: 300_000 };
  const planned = [{ ...heavy, tookMs: 5 }, { ...heavy, tookMs: 14.5 }, { bytes: 9e6 }, {}];
  expect(await paced(planned)).toEqual([
    ...[round, ['written', 39, 3], ['stamp', 0], ['stands'], ['sleep', 10]],
    ...[round, ['written', 40, 3]],
    ...[round, ['written', 41, 3], ['sleep', 20], wait],
    ...[round, ['written', 42, 3]],
  ]);
});

// docs/rules.md#complete
it('rounds that a tag did not answer say nothing of what is written, or complete, and pause', async () => {
  const away = { all: false, idle: false };
  expect(await paced([{ ...away, doubts: 1 }, away, {}])).toEqual([
    ...[round, ['sleep', 100], ['fold', 'at once'], round, ['sleep', 100]],
    ...[round, ['written', 41, 3], ['stamp', 1], ['stands']],
  ]);
});

// docs/rules.md#complete
it('rounds stamp anew once the log is folded after the last doubt, or away for a minute, and a round is written after that', async () => {
  const stamps = async (planned: Round[]) =>
    (await paced(planned)).filter(([what]) => what !== 'written' && what !== 'stands');
  expect(await stamps([{ doubts: 1 }, {}, {}, {}])).toEqual([
    ...[round, ['stamp', 0], wait, ['fold', 'at once']],
    // What was folded while the round ran is not in it: the next one follows at once.
    ...[round, round, ['stamp', 1], wait, round],
  ]);
  // What began before ends later: that says nothing of the later doubt.
  expect(await stamps([{ doubts: 1, folded: 'late' }, { doubts: 2 }, {}, {}, {}])).toEqual([
    ...[round, ['stamp', 0], wait, ['fold', 'late'], round, wait, ['fold', 'at once']],
    ...[round, round, ['stamp', 2], wait, round],
  ]);
  const never = await stamps([{ doubts: 1, folded: 'never' }, {}, {}, {}, {}, {}]);
  expect(never.flatMap(([what, doubts]) => (what === 'stamp' ? [doubts] : []))).toEqual([0, 1]);
  await expect(paced([{ doubts: 1, folded: new Error('no such topic') }, {}, {}])).rejects.toThrow('no such topic');
});
