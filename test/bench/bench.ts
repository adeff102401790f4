import { machine } from './machine.ts';

/**
 * `npm run bench` and `npm run bench -- <name> …`: prints figures; it is no test, and asserts nothing. What begins with a
 * dash is an option of the benchmark before it: `start --riders=100000`.
 */
const benches: Record<string, (options: readonly string[]) => Promise<void>> = {
  reads: async () => (await import('./reads.ts')).benchReads(),
  fold: async () => (await import('./fold.ts')).benchFold(),
  facts: async () => (await import('./facts.ts')).benchFacts(),
  me: async (options) => (await import('./me.ts')).benchMe(options),
  replay: async () => (await import('./replay.ts')).benchReplay(),
  archive: async () => (await import('./archive.ts')).benchArchive(),
  wide: async (options) => (await import('./wide.ts')).benchWide(options),
  start: async (options) => (await import('./start.ts')).benchStart(options),
  freshness: async (options) => (await import('./freshness.ts')).benchFreshness(options),
  takeover: async (options) => (await import('./takeover.ts')).benchTakeover(options),
};
const defaults = ['reads', 'fold'];

const asked: { name: string; options: string[] }[] = [];
for (const word of process.argv.slice(2)) {
  if (word.startsWith('-') && asked.length > 0) asked.at(-1)!.options.push(word);
  else asked.push({ name: word, options: [] });
}
const names = asked.map(({ name }) => name);
const unknown = names.filter((name) => !(name in benches));
if (unknown.length > 0) {
  console.error(`Cannot measure ${unknown.join(', ')}: want any of ${Object.keys(benches).join(', ')}`);
  process.exitCode = 2;
} else {
  console.log(`${machine()}\n`);
  for (const { name, options } of asked.length > 0 ? asked : defaults.map((name) => ({ name, options: [] }))) {
    await benches[name]!(options);
    console.log();
  }
}
