import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import avsc from 'avsc';
import { runCommand } from './commands.ts';
import { otherCore, pin } from './pinned-process.ts';
import type { Bench } from './versions.ts';
import { forAnyVersion } from './world-archive.ts';

const bare = 'bare decoding by avsc, CPU';
const far = ['--as-of', '2100-01-01T00:00:00Z'];

/** An archive read to the facts that answer, and written as tables, against bare Avro decoding of the same files. */
export const replay: Bench = {
  options: { riders: '60000' },
  async prepare([version], { riders }, ended) {
    pin(process.pid, otherCore);
    const dir = mkdtempSync(join(tmpdir(), 'bench-replay-'));
    ended.defer(() => rmSync(dir, { recursive: true, force: true }));
    const archive = join(dir, 'archive');
    const sizes = ['--riders', riders!, '--rides', '1500', '--rate', '0'];
    await runCommand(version!, ['simulate', '--archive', archive, ...sizes], {});
    await forAnyVersion(archive);
    const records = await decodeBare(archive);
    let exports = 0;
    return {
      title: `Replay: ${records} records`,
      rows: [
        { name: bare, unit: 's' },
        { name: 'replay to one answer, CPU', unit: 's', to: bare, aim: '2' },
        { name: 'replay to one answer, peak memory', unit: 'MiB' },
        { name: 'export --personal, CPU', unit: 's', to: bare },
      ],
      async measure(each) {
        const env = { ARCHIVE_DIR: archive };
        const before = process.cpuUsage();
        await decodeBare(archive);
        const { user, system } = process.cpuUsage(before);
        const replayed = await runCommand(each, ['replay', ...far, '--get', '/metros/portland/days/2015-06-13'], env);
        const exported = await runCommand(
          each,
          ['export', join(dir, `tables-${exports++}`), '--personal', ...far],
          env,
        );
        return {
          [bare]: (user + system) / 1e6,
          'replay to one answer, CPU': replayed.cpuSeconds,
          'replay to one answer, peak memory': replayed.rssMiBMax,
          'export --personal, CPU': exported.cpuSeconds,
        };
      },
    };
  },
};

async function decodeBare(archive: string): Promise<number> {
  let records = 0;
  for (const name of readdirSync(archive, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.avro')) continue;
    const decoder = avsc.createFileDecoder(join(archive, name));
    decoder.on('data', () => records++);
    await once(decoder, 'end');
  }
  return records;
}
