import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { topicNames } from '../../../schemas/events/records.ts';
import { runCli } from '../../../services/command-line.ts';
import { heard } from '../../support/processes/heard.ts';
import { TestArchive } from '../../support/worlds/archive.ts';
import { emptyLog, load } from '../../support/worlds/archive-load.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

// docs/rules.md#archive-read
test.each(topicNames)('an archive without the folder of %s: every command that reads it names that', async (topic) => {
  await using archive = await TestArchive.make(1);
  const metro = { key: 'portland', value: sampleRecords.metros, timestampMs: 1 };
  await archive.append('metros', 0, [metro]);
  await rm(archive.folder(topic), { recursive: true });
  const said = `${archive.folder(topic)}: there is no such folder: the topic counts as empty`;
  const past = `--archive ${archive.dir}`;
  const commands = [
    `archive check ${archive.dir}`,
    `archive forget r1 ${archive.dir}`,
    `replay --as-of 2020-01-01T00:00:00Z ${past}`,
    `history /metros/portland/days/2020-01-01 ${past}`,
    `changes --from 2000-01-01T00:00:00Z --to 2020-01-01T00:00:00Z ${past}`,
    `export ${archive.dir}/tables ${past}`,
    `rejected list ${past}`,
  ];
  for (const command of commands) {
    const { out, err } = await heard((io) => runCli(command.split(' '), io, {}));
    expect([command, [...out, ...err].join('\n')]).toEqual([command, expect.stringContaining(said)]);
  }
  const warnings: string[] = [];
  await load(archive.dir, emptyLog(1), { log: { warn: (message) => void warnings.push(message) } });
  await archive.read();
  await archive.open().bounds();
  expect([warnings, archive.warnings]).toEqual([[said], [said]]);
});
