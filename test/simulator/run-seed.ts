import { Random } from '../../services/simulate/world/random.ts';
import { leadership, rendered, unsettled } from './end-state.ts';
import { allPairs, faultNames, heal, metPairs, startMissing, strike } from './faults.ts';
import { Scene, type SceneOptions } from './scene.ts';
import { watchStatus } from './status-watch.ts';

const settleMsMax = 40_000;
const lookMs = 250;
// Rejects are lost up to 300 ms after that fault was counted, and who leads looks every 10 s whether some were: the log is
// read again at that look, and not before.
const lossOfRejectsSeenMs = 11_000;
// What bad weather cut off on its slow way is known some time after it ended, and is tried again two seconds later at most.
const connectionLostSeenMs = 3_000;

/** What sort of world a seed makes. Most are short: faults that come soon after one another find the most. */
function shapeOf(seed: number): Required<SceneOptions> & { long: boolean } {
  const random = new Random(seed, 2);
  const long = random.chance(0.04);
  return {
    long,
    masters: random.chance(0.3) ? 2 : 1,
    openNamesMax: random.chance(0.1) ? 6 : 20_000,
    // What one API tells says nothing of what another one does.
    apis: long ? 2 : 1,
    free: !long || random.chance(0.5),
    beforeMidnightMs: long ? 15_000 : 4_000,
  };
}

/** One world from its seed: faults while it changes and is read, then peace, in which all must come right. */
export async function runSeed(seed: number) {
  const { long, ...options } = shapeOf(seed);
  const scene = new Scene(seed, options);
  watchStatus(scene);
  let fault: Error | null = null;
  try {
    plan(scene, pairs[seed % pairs.length]!, long);
    await scene.goOnAsAsked();
    scene.say('all is well from now on');
    scene.quiet = true;
    heal(scene);
    await scene.goOnAsAsked();
    await settle(scene, long ? 1_500 : 400);
    assertChecksToldTruth(scene);
  } catch (cause) {
    fault = cause as Error;
  }
  const said = [...scene.said];
  scene.end();
  return { fault, said, met: metPairs(scene) };
}

// Each is planned as often as the others, beside faults that come as they may. A restore comes some time after it was
// planned: the other one follows it.
const pairs = allPairs.map(([one, other]) =>
  other.startsWith('restore') ? ([other, one] as const) : ([one, other] as const),
);
type Pair = (typeof pairs)[number];

// These strike some time after they were planned, or not always: two of them seldom meet by chance, nor does one itself.
const late = new Set<string>(['restoreStore', 'restoreBetweenBeats', 'killLeaderAndTail', 'startProjector']);
const rare = pairs.filter(([one, other]) => one === other || (late.has(one) && late.has(other)));

const times = (count: number, happen: () => void): void => {
  for (let i = 0; i < count; i++) happen();
};

/** Projectors that start, faults that strike, changes and reads. */
function plan(scene: Scene, pair: Pair, long: boolean): void {
  const { random, timeline } = scene;
  times(long ? random.int(1, 3) : random.pick([1, 1, 2, 2, 3]), () =>
    timeline.after(random.int(0, long ? 1_500 : 300), () => void scene.startProjector()),
  );
  const more = random.int(0, long ? 2 : 1);
  const fromMs = random.chance(0.8) ? (long ? 3_000 : 300) : 0;
  const soon = (happen: () => void) => scene.later(random.int(fromMs, long ? 8_000 : 1_700), happen);
  for (const [first, second] of random.chance(0.6) ? [pair, random.pick(random.chance(0.5) ? rare : pairs)] : [pair]) {
    soon(() => {
      scene.follows[first] = () => scene.later(random.int(0, 900), () => strike(scene, second));
      strike(scene, first);
    });
  }
  times(more, () => soon(() => strike(scene, random.pick(faultNames))));
  times(long ? random.int(5, 40) : random.int(3, 12), () =>
    scene.later(random.int(0, long ? 9_000 : 2_300), () => scene.publish()),
  );
  const read = (): void => {
    scene.read();
    if (!scene.quiet) timeline.after(random.int(1, long ? 160 : 120), read);
  };
  timeline.after(long ? 2_500 : 300, read);
  scene.goesOn(long ? random.int(4_000, 11_000) : random.int(700, 2_800));
}

/** Whatever else befell a store, those who repair it are asked to, or it is a change on its way: no difference to tell of. */
function assertChecksToldTruth({ said, faults }: Scene): void {
  const told = said.find((message) => message.includes('was not as written'));
  if (told !== undefined && !faults.some(({ name }) => name === 'writeOtherType'))
    throw new Error(`A check found what nobody else had written: ${told}`);
}

/** Waits until all is as it must be, and sees that it stays so. */
export async function settle(scene: Scene, staysMs = 1_500): Promise<void> {
  const { log, timeline } = scene;
  const lost = scene.faults.findLast(({ name }) => name === 'loseRejects');
  const isFair = !scene.faults.some(({ name }) => name === 'badWeather');
  const fromMs = Math.max(
    lost ? lost.fromMs + lossOfRejectsSeenMs : 0,
    isFair ? 0 : timeline.nowMs + connectionLostSeenMs,
  );
  const untilMs = Math.max(timeline.nowMs, fromMs) + settleMsMax;
  let wanted = { version: -1, views: new Map<string, string>() };
  const look = (): string | undefined => {
    if (wanted.version !== log.version) wanted = { version: log.version, views: rendered(scene) };
    return unsettled(scene, wanted.views).next().value ?? undefined;
  };
  for (;;) {
    await scene.goOn(lookMs);
    startMissing(scene);
    const wrong = look();
    if (wrong === undefined && timeline.nowMs >= fromMs) break;
    if (timeline.nowMs > untilMs) throw new Error(`It did not come right: ${wrong}`);
  }
  const before = leadership(scene);
  await scene.goOn(staysMs);
  const wrong = look();
  if (wrong !== undefined) throw new Error(`It did not stay right: ${wrong}`);
  if (leadership(scene) !== before) throw new Error('The leader changed while all was well');
}
