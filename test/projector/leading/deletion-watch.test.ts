import { expect, it } from 'vitest';
import { DeletionWatch } from '../../../projector/leading/deletion-watch.ts';
import { LogTruncatedError } from '../../../projector/ports/event-log.ts';
import type { Status } from '../../../projector/status/status.ts';
import { byTopic } from '../../../schemas/events/records.ts';
import { silentLog } from '../../support/processes/heard.ts';
import { positionAt } from '../../support/stores/placed-log.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';

/** Looks twice at a log that begins at offset 5, beside views of a fold that began there, or at `stored`. */
async function looked(role: Status['role'], folded: number, stored = 5, policy: string | null = 'compact') {
  const stop = new AbortController();
  const clock = new SteppingClock();
  const status: Pick<Status, 'deletions' | 'role'> = { role, deletions: { topics: new Set(), words: [] } };
  const lines: string[] = [];
  const position = JSON.stringify({
    log: 'l',
    position: positionAt(),
    sum: '',
    fanOuts: [],
    begin: positionAt({ rides: stored }),
  });
  let looks = 0;
  const watch = new DeletionWatch({
    clock,
    signal: stop.signal,
    status,
    tags: [0],
    identity: 'l',
    log: { ...silentLog, error: (line: string) => lines.push(line) },
    folding: { begin: positionAt({ rides: folded }) },
    leadership: {
      look: async () => {
        if (++looks === 2) stop.abort();
        return [{ fence: '', position }];
      },
    },
    eventLog: {
      bounds: async () => ({ ...byTopic(() => [{ low: 0, end: 9 }]), rides: [{ low: 5, end: 9 }] }),
      policies: async () => (policy === null ? null : byTopic(() => policy)),
    },
  });
  await watch.run();
  return { lines, words: status.deletions.words.length, topics: [...status.deletions.topics] };
}

// docs/rules.md#deleted-records
it.each([
  ['nothing where all began as the log does', looked('leader', 5), { lines: 0, topics: 0 }],
  ['what is deleted since its own fold', looked('leader', 2), { lines: 1, topics: 1 }],
  ['what is deleted since the fold of the views', looked('standby', 5, 2), { lines: 1, topics: 1 }],
  ['each topic that is not compacted alone', looked('leader', 5, 5, 'delete'), { lines: 1, topics: 8 }],
  ['nothing of settings that may not be read', looked('leader', 5, 5, null), { lines: 0, topics: 0 }],
])('a projector tells %s, once', async (_, looking, wanted) => {
  const { lines, topics } = await looking;
  expect({ lines: lines.length, topics: topics.length }).toEqual(wanted);
});

it('a standby with facts that the leader’s fold found deleted folds anew', async () => {
  await expect(looked('standby', 2, 5)).rejects.toThrow(LogTruncatedError);
});
