import { machine } from './machine.ts';

/** `npm run bench` and `npm run bench -- <name> …`: prints figures; it is no test, and asserts nothing. */
const benches: Record<string, () => Promise<void>> = {
  reads: async () => (await import('./reads.ts')).benchReads(),
  fold: async () => (await import('./fold.ts')).benchFold(),
  facts: async () => (await import('./facts.ts')).benchFacts(),
  views: async () => (await import('./views.ts')).benchViews(),
  friends: async () => (await import('./friends.ts')).benchFriends(),
  replay: async () => (await import('./replay.ts')).benchReplay(),
  'fan-out': async () => (await import('./fan-out.ts')).benchFanOut(),
  archive: async () => (await import('./archive.ts')).benchArchive(),
};
const defaults = ['reads', 'fold'];

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in benches));
if (unknown.length > 0) {
  console.error(`Cannot measure ${unknown.join(', ')}: want any of ${Object.keys(benches).join(', ')}`);
  process.exitCode = 2;
} else {
  console.log(`${machine()}\n`);
  for (const name of names.length > 0 ? names : defaults) {
    await benches[name]!();
    console.log();
  }
}
