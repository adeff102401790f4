import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/**
 * The law of arrows (ARCHITECTURE.md#rooms), read from the imports of every source file: a room is a folder, an arrow an
 * import from one room of another. Types count: a port that leaks an adapter's type is an arrow as well.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const tops = ['services', 'infra', 'projector', 'api', 'schemas'];
const tracked = (folders: string[]): string[] =>
  execFileSync('git', ['ls-files', ...folders], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n');
const sources = tracked(tops).filter((file) => /\.(ts|js|mjs)$/.test(file));

const importOf = /(?:\bfrom|\bimport)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

/** What each file imports of ours. */
const imports = new Map(
  sources.map((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const found = [...text.matchAll(importOf)].map(([, path]) => normalize(join(dirname(file), path!)));
    return [file, found.filter((path) => sources.includes(path))];
  }),
);

/** The arrows between rooms, each with the imports that make it. `roomOf`: the room of a file. */
function arrows(roomOf: (file: string) => string): Map<string, Map<string, string[]>> {
  const all = new Map<string, Map<string, string[]>>();
  for (const [file, targets] of imports) {
    for (const target of targets) {
      const [from, to] = [roomOf(file), roomOf(target)];
      if (from === to) continue;
      const ofRoom = all.get(from) ?? new Map<string, string[]>();
      all.set(from, ofRoom.set(to, [...(ofRoom.get(to) ?? []), `${basename(file)} > ${basename(target)}`]));
    }
  }
  return all;
}

/** One circle through the graph, or null: the nodes in order, the first one twice. */
function circle(targetsOf: (node: string) => Iterable<string>, nodes: Iterable<string>): string[] | null {
  const done = new Set<string>();
  const walk = (node: string, path: string[]): string[] | null => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (done.has(node)) return null;
    for (const target of targetsOf(node)) {
      const found = walk(target, [...path, node]);
      if (found) return found;
    }
    done.add(node);
    return null;
  };
  for (const node of nodes) {
    const found = walk(node, []);
    if (found) return found;
  }
  return null;
}

/** Who reads the wall clock: tokens' and certificates' ends, headers, timestamps, dates of the calendar, times of files. */
const wallClocks = [
  'api/http/http-edge.ts',
  'api/sign-in/provider/provider-settings.ts',
  'api/sign-in/routes/interactions.ts',
  'api/sign-in/tokens/sample-token.ts',
  'api/sign-in/tokens/token-checker.ts',
  'infra/archive/format/archive-lock.ts',
  'infra/kafka/client/kafka-js.ts',
  'projector/running/clock.ts',
  'services/archive/load-log.ts',
  'services/archive/save-log.ts',
  'services/backends/new-archive.ts',
  'services/backends/open-kafka.ts',
  'services/past/export.ts',
  'services/past/history.ts',
  'services/records/check.ts',
  'services/records/json-lines/input.ts',
  'services/records/rejected-resubmit.ts',
  'services/serve/http/application.ts',
  'services/serve/metrics/process-metrics.ts',
  'services/serve/metrics/projector-metrics.ts',
  'services/serve/open-event-log.ts',
  'services/serve/start.ts',
  'services/simulate/sample-archive.ts',
  'services/simulate/simulate.ts',
];

const top = (path: string): string => path.split('/')[0]!;
const isPort = (path: string): boolean => dirname(path).endsWith('/ports') || dirname(path) === 'projector/running';

/** Which tops a file may import from, besides its own. */
function mayImport(file: string, target: string): boolean {
  switch (top(file)) {
    case 'schemas':
      return top(target) === 'schemas';
    case 'projector':
    case 'api':
      return [top(file), 'schemas'].includes(top(target));
    case 'infra':
      return ['infra', 'schemas'].includes(top(target)) || isPort(target);
    default:
      return true;
  }
}

describe('the layout', () => {
  it('lets no file import against the arrows', () => {
    const all = [...imports].flatMap(([file, targets]) => targets.map((target) => [file, target] as const));
    expect(all.filter(([file, target]) => !mayImport(file, target))).toEqual([]);
    expect(all.length).toBeGreaterThan(1_000);
  });

  it('has no circle of files', () => {
    expect(circle((file) => imports.get(file)!, imports.keys())).toBe(null);
  });

  it.each([
    ['rooms', dirname],
    ['rooms with all that is in them, such as services/past', (file: string) => dirname(file).split('/', 2).join('/')],
  ])('has no circle of %s', (_, roomOf) => {
    const all = arrows(roomOf);
    const found = circle((room) => all.get(room)?.keys() ?? [], all.keys());
    expect(found?.slice(1).map((room, i) => ({ to: room, by: all.get(found[i]!)!.get(room) })) ?? null).toBe(null);
  });

  it('listens to signals in one room, which leaves nothing behind (P60)', () => {
    const own = /new AbortController|AbortSignal\.(any|timeout)|addEventListener\('abort'|Promise\.race/;
    // Scripts of pages end with their page.
    const ofProcesses = sources.filter((file) => file.endsWith('.ts'));
    const listening = ofProcesses.filter((file) => own.test(readFileSync(join(root, file), 'utf8')));
    expect(listening.filter((file) => dirname(file) !== 'projector/running')).toEqual([]);
    expect(listening.length).toBeGreaterThan(0);
  });

  // docs/rules.md#clock
  it('reads the wall clock only for instants that others read, or that others wrote', () => {
    const wall = /Date\.now|new Date\(\)/;
    const reading = sources.filter((file) => file.endsWith('.ts') && wall.test(readFileSync(join(root, file), 'utf8')));
    expect(reading).toEqual(wallClocks);
  });

  it('has no room with over twelve files, no file of over 300 lines, and no two files of one name', () => {
    const names = sources.map((file) => basename(file));
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
    const rooms = Object.groupBy(sources, dirname);
    // The event log's encoding is one idea in many parts.
    const large = Object.entries(rooms).filter(([room, files]) => room !== 'schemas/avro' && files!.length > 12);
    expect(large.map(([room, files]) => [room, files!.length])).toEqual([]);
    const lines = (file: string): number => readFileSync(join(root, file), 'utf8').split('\n').length - 1;
    expect(sources.filter((file) => lines(file) > 300)).toEqual([]);
  });

  it('says in each room what it is for, in a README of at most fifteen lines, and where its tests are, in one of these: the folder that mirrors it, or those that hold it instead', () => {
    const wrong = [...new Set(sources.map((file) => dirname(file)))].filter((room) => {
      const readme = join(root, room, 'README.md');
      if (!existsSync(readme)) return true;
      const lines = readFileSync(readme, 'utf8').trimEnd().split('\n');
      const [told = '', ...more] = lines.filter((line) => line.startsWith('Tests: `test/'));
      const named = [...told.matchAll(/`(test\/[^`]+)`/g)].map(([, path]) => path!);
      const mirror = `test/${room}`;
      const isTold = named.length > 0 && more.length === 0 && named.every((path) => existsSync(join(root, path)));
      return lines.length > 15 || !isTold || (existsSync(join(root, mirror)) && named[0] !== mirror);
    });
    expect(wrong).toEqual([]);
  });

  it('is mirrored by the tests: each of their folders is a folder of the source', () => {
    const rooms = new Set(
      tracked(tops.map((room) => `test/${room}`)).map((file) => dirname(file).slice('test/'.length)),
    );
    expect(rooms.size).toBeGreaterThan(40);
    expect([...rooms].filter((room) => !existsSync(join(root, room)))).toEqual([]);
  });
});
