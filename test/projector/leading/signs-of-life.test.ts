import { expect, it } from 'vitest';
import { SignsOfLife } from '../../../projector/leading/signs-of-life.ts';
import { beatMs } from '../../../projector/ports/leading.ts';
import type { Role } from '../../../projector/status/status.ts';
import { idleStatus } from '../../support/processes/metrics.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';

/** Beat after beat with one of these statuses; what is said in the store, and what of it is refused. */
async function said(...beats: { role: Role; sinceMs: number | null; refused?: boolean }[]) {
  const { clock, stop } = sharedDeps();
  const saying: unknown[] = [];
  let at = -1;
  const say = async (what: unknown): Promise<void> => {
    saying.push(what);
    if (beats[at]!.refused) throw new Error(`full ${at}`);
  };
  clock.ms = 1_000;
  clock.sleep = async (ms) => {
    expect(ms).toBe(beatMs);
    at += 1;
    status.role = beats[at]!.role;
    if (at === beats.length - 1) stop.abort();
  };
  const status = { ...idleStatus, now: () => ({ ...idleStatus, unreadableSinceMs: beats[at]!.sinceMs }) };
  const leadership = { coming: say, unreadable: say };
  const signs = new SignsOfLife({ leadership, tags: [3, 4], clock, status });
  expect(signs.takeRefusal()).toBeNull();
  await signs.run(stop.signal);
  return { saying, refusals: [signs.takeRefusal()?.message, signs.takeRefusal()] };
}

// docs/rules.md#take-over
it('a standby says at each beat that it is there, and a leader how old the oldest unreadable change is', async () => {
  const standby = { role: 'standby', sinceMs: 300 } as const;
  const leader = { role: 'leader', sinceMs: 300 } as const;
  const none = [undefined, null];
  expect(await said(standby, { ...leader, sinceMs: null }, leader)).toEqual({
    saying: [[3, 4], null, 700],
    refusals: none,
  });
  // That a standby's sign was refused is told once, and a leader's is nobody's concern.
  expect((await said({ ...standby, refused: true }, standby)).refusals).toEqual(['full 0', null]);
  expect((await said({ ...leader, refused: true })).refusals).toEqual(none);
});
