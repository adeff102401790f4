import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import avsc from 'avsc';
import { writeExport } from '../../services/past/export/write-export.ts';
import { foldPast } from '../../services/past/past-fold.ts';
import { openPastLog, type PastLog } from '../../services/past/past-log.ts';
import { sourcesOf } from '../../services/past/past-records.ts';
import { loadSettings } from '../../services/settings/settings.ts';
import { defaultSizes } from '../../services/simulate/sizes.ts';
import { runSimulate } from '../../services/simulate.ts';
import { quietIo } from '../support/heard.ts';
import { median, millions, table } from './statistics.ts';

const rounds = 5;

/** An archive read to the facts that answer, and written as tables, against bare Avro decoding of the same files. */
export async function benchReplay(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'bench-replay-'));
  try {
    const archive = join(dir, 'archive');
    const settings = loadSettings({ LOG_LEVEL: 'silent' });
    await runSimulate({ ...defaultSizes, riders: 60_000, rides: 1_500, rate: 0, archive }, settings, quietIo);
    const log = await openPastLog('bench', archive, settings, quietIo);
    const measured: { bare: number; replay: number; export: number }[] = [];
    let records = 0;
    for (let round = 0; round <= rounds; round++) {
      const bare = await cpuSecondsOf(async () => {
        records = await decodeBare(log);
      });
      const replay = await cpuSecondsOf(() => replayed(log));
      const exported = round === 0 ? 0 : await cpuSecondsOf(() => exportTo(join(dir, `tables-${round}`), log));
      // The first round compiles.
      if (round > 0) measured.push({ bare: records / bare, replay: records / replay, export: records / exported });
    }
    const of = (name: keyof (typeof measured)[number]) => measured.map((one) => one[name]);
    const ratio = (name: 'replay' | 'export') => median(measured.map((one) => one[name] / one.bare)).toFixed(2);
    console.log(
      `Replay: ${rounds} alternating rounds, ${Math.round(records / 1000)}k records, a second of CPU time, medians`,
    );
    const rows = [
      ['bare decoding by avsc', millions(median(of('bare'))), '1.00', ''],
      ['replay, ready to answer', millions(median(of('replay'))), ratio('replay'), '0.50'],
      ['export --personal', millions(median(of('export'))), ratio('export'), '1 million a minute'],
    ];
    console.log(table(['', 'records', 'ratio', 'aim'], rows));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function cpuSecondsOf(run: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

async function decodeBare({ listing }: PastLog): Promise<number> {
  let records = 0;
  for (const { path } of Object.values(listing).flat(2)) {
    const decoder = avsc.createFileDecoder(path);
    decoder.on('data', () => records++);
    await once(decoder, 'end');
  }
  return records;
}

const all = { atMs: Number.POSITIVE_INFINITY, signal: quietIo.signal };
const replayed = ({ listing, bounds }: PastLog) => foldPast(sourcesOf({ listing, bounds }, 'timestamp'), all);

function exportTo(dir: string, { listing, bounds }: PastLog) {
  const what = { clockMs: Date.now(), personal: true, secrets: false };
  return writeExport(dir, sourcesOf({ listing, bounds }, 'timestamp'), { ...all, ...what }, () => '{}');
}
