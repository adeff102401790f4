import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { topicNames } from '../../../schemas/events/records.ts';
import { warnOfMissingTopics } from '../../../services/backends/readable-archive.ts';

it('an archive that lacks folders of topics is said to, and one with all of them or none is not', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'ride-calendar-missing-'));
  const said: string[] = [];
  const look = () => warnOfMissingTopics(dir, 'ride-calendar.', { warn: (message) => said.push(message) });
  look();
  for (const topic of topicNames.filter((name) => name !== 'riders' && name !== 'metros')) {
    await mkdir(join(dir, `ride-calendar.${topic}`));
  }
  look();
  expect(said).toEqual([
    `The archive ${dir} has no folder ride-calendar.metros, ride-calendar.riders: it is read as if these topics were empty`,
  ]);
  for (const topic of ['riders', 'metros']) await mkdir(join(dir, `ride-calendar.${topic}`));
  look();
  expect(said).toHaveLength(1);
  await rm(dir, { recursive: true });
});
