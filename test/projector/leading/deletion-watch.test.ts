import { expect, it } from 'vitest';
import { DeletionWatch } from '../../../projector/leading/deletion-watch.ts';
import { LogTruncatedError } from '../../../projector/ports/event-log.ts';
import type { Status } from '../../../projector/status/status.ts';
import { byTopic, type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { positionAt } from '../../support/stores/placed-log.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';

/** Looks four times, a minute apart, at a log that begins at offset 5, beside views of a fold that began there, or at `stored`. */
async function looked(role: Status['role'], folded: number, stored = 5, policy: string | null = 'compact') {
  const { lines, stop, ...deps } = sharedDeps();
  const status: Pick<Status, 'deletions' | 'role'> = { role, deletions: { topics: new Set(), words: [] } };
  const left = { log: 'l', position: positionAt(), sum: '', fanOuts: [], begin: positionAt({ rides: stored }) };
  let looks = 0;
  const watch = new DeletionWatch({
    ...deps,
    status,
    tags: [0],
    identity: 'l',
    folding: { begin: positionAt({ rides: folded }) },
    leadership: {
      look: async () => {
        if (++looks === 4) stop.abort();
        return [{ fence: '', position: JSON.stringify(left) }];
      },
    },
    eventLog: {
      bounds: async () => ({ ...byTopic(() => [{ low: 0, end: 9 }]), rides: [{ low: 5, end: 9 }] }),
      policies: async () => (policy === null ? null : byTopic(() => policy)),
    },
  });
  await watch.run();
  expect(deps.clock.slept).toEqual(Array(4).fill(60_000));
  return [lines, [...status.deletions.topics]];
}

// docs/rules.md#deleted-records
it.each<[string, Parameters<typeof looked>, words: string | null, topics?: readonly TopicName[]]>([
  ['nothing where all began as the log does', ['leader', 5], null],
  ['what is deleted since its own fold', ['leader', 2], 'have your ride system publish them again before', ['rides']],
  ['what is deleted since the fold of the views', ['standby', 5, 2], 'rides/0 below offset 5', ['rides']],
  ['each topic not compacted alone', ['leader', 5, 5, 'compact,delete'], 'cleanup.policy compact,delete', topicNames],
  ['nothing of settings that may not be read', ['leader', 5, 5, null], null],
])('a projector tells %s, once', async (_, looking, words, topics = []) => {
  expect(await looked(...looking)).toEqual([words ? [expect.stringContaining(words)] : [], topics]);
});

it('a standby with facts that the leader’s fold found deleted folds anew', async () => {
  expect(await looked('standby', 2, 5).catch((cause) => cause)).toBeInstanceOf(LogTruncatedError);
});
