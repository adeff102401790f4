import { expect, it } from 'vitest';
import { SignsOfLife } from '../../../projector/leading/signs-of-life.ts';
import { beatMs } from '../../../projector/ports/leading.ts';
import type { Leadership } from '../../../projector/ports/view-writer.ts';
import type { Role, Status } from '../../../projector/status/status.ts';

/** Beat after beat with one of these statuses; what is said in the store, and what of it is refused. */
async function said(beats: { role: Role; sinceMs: number | null; refused?: boolean }[]) {
  const stop = new AbortController();
  const slept: number[] = [];
  const saying: unknown[] = [];
  let at = -1;
  const say = async (what: unknown): Promise<void> => {
    saying.push(what);
    if (beats[at]!.refused) throw new Error(`full ${at}`);
  };
  const leadership = { coming: say, unreadable: say } as unknown as Leadership;
  const status = {
    get role() {
      return beats[at]!.role;
    },
    now: () => ({ unreadableSinceMs: beats[at]!.sinceMs }),
  } as unknown as Status;
  const clock = {
    nowMs: () => 1_000,
    async sleep(ms: number) {
      slept.push(ms);
      at += 1;
      if (at === beats.length - 1) stop.abort();
    },
  };
  const signs = new SignsOfLife({ leadership, tags: [3, 4], clock, status });
  expect(signs.takeRefusal()).toBeNull();
  await signs.run(stop.signal);
  expect(new Set(slept)).toEqual(new Set([beatMs]));
  return { saying, refusals: [signs.takeRefusal()?.message, signs.takeRefusal()] };
}

// docs/rules.md#take-over
it('a standby says at each beat that it is there, and a leader how old the oldest unreadable change is', async () => {
  const beats = [
    { role: 'standby', sinceMs: 300 },
    { role: 'leader', sinceMs: null },
    { role: 'leader', sinceMs: 300 },
  ] as const;
  expect(await said([...beats])).toEqual({ saying: [[3, 4], null, 700], refusals: [undefined, null] });
});

it('that a standby’s sign was refused is told once, and a leader’s is nobody’s concern', async () => {
  const standby = { role: 'standby', sinceMs: null } as const;
  const refused = await said([{ ...standby, refused: true }, standby]);
  expect(refused.refusals).toEqual(['full 0', null]);
  expect((await said([{ role: 'leader', sinceMs: null, refused: true }])).refusals).toEqual([undefined, null]);
});
