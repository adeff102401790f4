import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runCli } from '../../../services/command-line.ts';
import { heard } from '../../support/processes/heard.ts';
import { SavedArchive } from '../../support/worlds/saved-archive.ts';

// docs/rules.md#archive-manifest
test('an exact_since that somebody moved is refused by every command that reads an archive', async () => {
  await using saved = await SavedArchive.make();
  await saved.save();
  const { dir } = saved;
  const path = `${dir}/manifest.json`;
  const text = readFileSync(path, 'utf8');
  const commands = [
    `archive check ${dir}`,
    `archive forget a ${dir}`,
    `archive load ${dir}`,
    `replay --as-of 2026-01-01T00:00:00Z --archive ${dir}`,
    `history /rides/abcd --archive ${dir}`,
    `changes --from 2026-01-01T00:00:00Z --to 2026-01-02T00:00:00Z --archive ${dir}`,
    `export ${dir}-tables --archive ${dir}`,
    `rejected list --archive ${dir}`,
    `projector`,
    `start`,
  ];
  writeFileSync(path, text.replace('"exact_since": "2', '"exact_since": "1'));
  for (const command of commands) {
    const log = command.startsWith('archive load') ? { KAFKA_BROKERS: '127.0.0.1:1' } : { ARCHIVE_DIR: dir };
    const env = { LOG_LEVEL: 'silent', REDIS_URL: 'redis://127.0.0.1:1', ...log };
    const { code, out, err } = await heard((io) => runCli(command.split(' '), io, env) as Promise<0>);
    expect([command, code > 0, [...out, ...err].join('\n')]).toEqual([
      command,
      true,
      expect.stringContaining(`Cannot read ${path}: its checksum is not that of its content`),
    ]);
  }
  await expect(saved.save()).rejects.toThrow('its checksum is not that of its content');
});
