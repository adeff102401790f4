import type { RedisInMemory, Refusal, Snapshot } from './redis-in-memory.ts';
import type { Fault, Scene, Struck } from './scene.ts';
import { tags } from './world.ts';

/** A master goes away, and another process comes back with what it held when the snapshot was made. */
function comeBack(scene: Scene, struck: Struck, index: number, snapshot: Snapshot, outageMsMax = 3_000): void {
  const { random, masters } = scene;
  const master = masters[index]!;
  if (!master.up) return;
  // A replica that was resynchronised keeps its run id.
  const process = scene.newProcess(random.chance(0.2) ? master.redis.runId : null);
  master.stop();
  const outageMs = random.int(1, random.pick([Math.min(100, outageMsMax), Math.min(1_000, outageMsMax), outageMsMax]));
  // What it holds now is to be read.
  if (outageMs < 1_000) scene.goesOn(outageMs + 800);
  scene.readOften(outageMs, outageMs + 600);
  struck(outageMs, () => {
    scene.say(`master ${index} is ${process.runId}:${process.replicationId} now`);
    master.start(snapshot, process);
  });
}

/** Another program's command, which nothing refuses. */
function byAnother(redis: RedisInMemory, ...args: string[]): void {
  const { refuses } = redis;
  redis.refuses = null;
  redis.command(args);
  redis.refuses = refuses;
}

/** A master refuses for a while what it can't do. */
function refuse({ random }: Scene, struck: Struck, redis: RedisInMemory, refusal: Refusal): void {
  redis.refuses = refusal;
  struck(random.int(100, random.pick([1_000, 4_000])), () => {
    if (redis.refuses === refusal) redis.refuses = null;
  });
}

/** What happens to Redis and the way to it. */
export const storeFaults = {
  /** From a snapshot of now, that gets older while readers see what is newer; or a replica lacks the last writes. Projectors may die, too. */
  restoreStore(scene, struck) {
    const { random, masters, timeline } = scene;
    const index = random.int(0, masters.length - 1);
    const { snapshot } = masters[index]!.redis;
    if (random.chance(0.3)) return scene.later(random.int(0, 300), () => comeBack(scene, struck, index, snapshot));
    for (let i = random.int(0, 3); i > 0; i--) scene.later(random.int(0, 200), () => scene.publish());
    const ageMs = 300 + random.int(0, random.pick([1_000, 1_000, 2_500]));
    scene.goesOn(ageMs);
    scene.readOften(200, ageMs);
    const isAlone = random.chance(0.5);
    scene.later(ageMs, () => {
      if (!isAlone) {
        for (const { process } of scene.projectors) process.kill();
        timeline.after(random.int(0, 1_000), () => void scene.startProjector());
      }
      comeBack(scene, struck, index, snapshot);
    });
  },
  /** Between two beats: some tags' fences have moved since the snapshot, with batches, or the first one's alone has. */
  restoreBetweenBeats(scene, struck) {
    const { random, keys, masters } = scene;
    const index = random.int(0, masters.length - 1);
    const fences = (): string[] => tags.map((tag) => String(scene.redisOf(tag).keys.get(keys.fence(tag))));
    const [before, { snapshot }] = [fences(), masters[index]!.redis];
    for (let i = random.int(0, 2); i > 0; i--) scene.later(random.int(0, 50), () => scene.publish());
    const wantsBatch = random.chance(0.7);
    let looks = 200;
    const look = (): void => {
      const moved = fences().map((fence, i) => fence !== before[i]);
      const isDue = wantsBatch ? moved.slice(1).includes(true) && !moved[0] : moved[0];
      if (isDue || looks-- === 0) comeBack(scene, struck, index, snapshot, 40);
      else scene.later(5, look);
    };
    scene.goesOn(1_100);
    look();
  },
  emptyStore({ random, masters }, struck) {
    random.pick(masters).redis.empty();
    struck();
  },
  loseFence(scene, struck) {
    const tag = scene.random.pick(tags);
    byAnother(scene.redisOf(tag), 'DEL', scene.keys.fence(tag));
    struck();
  },
  /** Another program writes where a key of ours belongs. Somebody asks for a compare of the tag, until it is mended. */
  writeOtherType({ random, masters, keys, timeline }, struck) {
    const { redis } = random.pick(masters);
    const ours = [...redis.keys.keys()].filter((key) => key.startsWith(keys.prefix));
    if (ours.length === 0) return;
    const key = random.pick(ours);
    const open = keys.open(Number(/\{v(\d+)\}/.exec(key)![1]));
    byAnother(redis, 'DEL', key);
    byAnother(redis, 'SADD', key, 'x');
    // The next sign of life replaces it.
    const isSign = /:(coming|unreadable|asked)$/.test(key);
    const ask = (): void => {
      if (isSign || redis.keys.get(key) !== 'set') return;
      if (key !== open && redis.keys.get(open) !== 'set') byAnother(redis, 'ZADD', open, '+inf', 'compare');
      byAnother(redis, 'SET', keys.asked(), String(timeline.nowMs));
      timeline.after(1_000, ask);
    };
    ask();
    struck();
  },
  freezeStore({ random, masters }, struck) {
    const master = random.pick(masters);
    master.freeze();
    struck(random.int(100, 5_000), () => master.resume());
  },
  /** It is full, a replica or busy; or it wants another password, until that is set back: connections that are made do not help. */
  refuseStore(scene, struck) {
    const { random, masters } = scene;
    const master = random.pick(masters);
    const refusal = random.pick(['OOM', 'READONLY', 'BUSY', 'NOAUTH'] as const);
    if (refusal === 'NOAUTH') for (const connection of [...master.connections]) connection.breakOff();
    refuse(scene, struck, master.redis, refusal);
  },
  /** Another process has all that the one before held, once it has loaded it. */
  restartStore(scene, struck) {
    const master = scene.random.pick(scene.masters);
    if (!master.up) return;
    master.stop();
    master.start(master.redis.snapshot, scene.newProcess(null));
    refuse(scene, struck, master.redis, 'LOADING');
  },
  badWeather({ random, weather }, struck) {
    weather.breaks = random.pick([0, 0.02, 0.1]);
    weather.slow = random.pick([0, 0.05, 0.3]);
    struck(random.int(500, 4_000), () => void Object.assign(weather, { breaks: 0, slow: 0 }));
  },
} satisfies Record<string, Fault>;
