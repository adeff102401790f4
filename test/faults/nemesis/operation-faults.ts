import { execFile } from 'node:child_process';
import { statfs, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { nextFormat } from '../../support/processes/next-version.ts';
import type { Processes } from '../../support/processes/process.ts';
import type { Service } from '../harness/service.ts';
import type { Arena, Fault } from './fault.ts';

/** What operators do, and what machines do to them: upgrades, full disks, clocks. */

const run = promisify(execFile);

/** As docs/tasks.md#upgrade-and-the-way-back has it, to the next view format and back. */
async function upgradeAndBack({ projectors, apis, nextProjectors, processes, next, stores }: Arena): Promise<void> {
  const change = async (to: Processes, come: readonly Service[], go: readonly Service[]): Promise<void> => {
    for (const projector of come) await projector.start(to);
    for (const projector of come) await projector.ready();
    for (const api of apis) {
      await api.end('stop');
      await api.start(to);
      await api.ready();
    }
    for (const projector of go) await projector.retire();
  };
  try {
    await change(await next(), nextProjectors, projectors);
    await sleep(2_000);
  } finally {
    // What did not come up in time goes all the same: two versions side by side would be another fault, and never end.
    await change(processes, projectors, nextProjectors).finally(() =>
      Promise.all(nextProjectors.map((projector) => projector.retire())),
    );
  }
  const dropped = await processes.run(['generations', 'drop', String(nextFormat)], stores.env);
  if (dropped.code !== 0) throw new Error(dropped.err);
}

const archiveMebibytes = 64;

/** A save that follows the log on a disk that fills up ends and says so; with room again the next one goes on. */
async function fillDisk({ processes, kafkaEnv }: Arena): Promise<void> {
  const disk = await processes.folder();
  await run('mount', ['-t', 'tmpfs', '-o', `size=${archiveMebibytes}m`, 'tmpfs', disk]);
  try {
    const archive = join(disk, 'archive');
    const following = await processes.start(['archive', 'save', '--follow', archive], kafkaEnv);
    const ballast = join(disk, 'ballast');
    const fill = async () => {
      await following.printed('The archive has what the log holds');
      const { bavail, bsize } = await statfs(disk);
      await writeFile(ballast, Buffer.alloc(bavail * bsize));
      return Promise.race([following.ended, sleep(90_000, null, { ref: false })]);
    };
    const ended = await fill().finally(() => following.kill());
    if (ended?.code !== 1 || !ended.err.includes('ENOSPC')) {
      throw new Error(`archive save --follow on a full disk ended with ${ended?.code}: ${ended?.err.slice(-500)}`);
    }
    await truncate(ballast);
    for (const command of ['save', 'check']) {
      const { code, out, err } = await processes.run(['archive', command, archive], kafkaEnv);
      if (code !== 0) throw new Error(`archive ${command} after a full disk ended with ${code}: ${out}${err}`);
    }
  } finally {
    await run('umount', ['-l', disk]);
  }
}

export const operationFaults: readonly Fault[] = [
  {
    name: 'upgrade of the view format and back',
    ready: (arena) => ({
      targets: [...arena.projectors, ...arena.apis].map(({ name }) => name),
      run: () => upgradeAndBack(arena),
    }),
  },
  {
    name: 'disk of archive save --follow full',
    isPossible: () => process.getuid?.() === 0,
    ready: (arena) => ({ targets: ['archive'], run: () => fillDisk(arena) }),
  },
  {
    name: 'clock stepped',
    isPossible: ({ clocks }) => clocks.size > 0,
    ready: ({ clocks }, random) => {
      const stepped = random.pick([...clocks.keys()]);
      return {
        targets: [stepped],
        run: async () => {
          // Not so far that a rider's token has ended, or of an API that it is from the future (docs/rules.md#access-tokens).
          const back = stepped.startsWith('api') ? -30 : -3_600;
          await clocks.get(stepped)!.step(random.pick([back, -30, 30, 900]));
          await sleep(random.int(3_000, 6_000));
          await clocks.get(stepped)!.step(0);
          await sleep(1_500);
        },
      };
    },
  },
];
