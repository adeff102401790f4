import { parseArgs } from 'node:util';
import { machine } from './machine.ts';
import { type Bench, measureInTurns } from './versions.ts';

/** `npm run bench -- <name> …`: prints figures; it is no test, and asserts nothing. docs/benchmarks.md has the options. */
const benches: Record<string, () => Promise<Bench>> = {
  start: async () => (await import('./start.ts')).start,
  reads: async () => (await import('./reads.ts')).reads,
  me: async () => (await import('./me.ts')).me,
  freshness: async () => (await import('./freshness.ts')).freshness,
  wide: async () => (await import('./wide.ts')).wide,
  archive: async () => (await import('./archive.ts')).archive,
  replay: async () => (await import('./replay.ts')).replay,
};

try {
  const names = process.argv.slice(2).filter((word) => !word.startsWith('-'));
  const unknown = names.filter((name) => !(name in benches));
  if (names.length === 0 || unknown.length > 0)
    throw new Error(
      `Cannot measure ${unknown.join(', ') || 'nothing'}: want some of ${Object.keys(benches).join(', ')}`,
    );
  const asked = await Promise.all(names.map((name) => benches[name]!()));
  const own = Object.assign({}, ...asked.map(({ options }) => options)) as Record<string, string>;
  const options = Object.fromEntries(
    ['old', 'rounds', ...Object.keys(own)].map((name) => [name, { type: 'string' as const }]),
  );
  const { values } = parseArgs({ options, args: process.argv.slice(2), allowPositionals: true });
  console.log(machine());
  for (const bench of asked) {
    console.log();
    await measureInTurns(bench, values as Record<string, string>);
  }
} catch (error) {
  const { code, message } = error as { code?: string; message: string };
  const isUsage = code?.startsWith('ERR_PARSE_ARGS') || message.startsWith('Cannot measure');
  console.error(isUsage ? message : error);
  process.exitCode = isUsage ? 2 : 1;
}
