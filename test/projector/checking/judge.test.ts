import { describe, expect, it } from 'vitest';
import { Comparison } from '../../../projector/checking/comparison.ts';
import { type Covered, Judge } from '../../../projector/checking/judge.ts';
import { WindowMarks } from '../../../projector/checking/window-marks.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import type { StoredName, StoredView } from '../../../projector/ports/view-writer.ts';
import type { StoredFanOut } from '../../../projector/position/settled-position.ts';
import type { AnyRecord, TopicName } from '../../../schemas/events/records.ts';
import { tagOf } from '../../../schemas/views/view-keys.ts';
import { recordKey, sampleRecords } from '../../support/worlds/records.ts';

const day = 20_000;
const dayText = '2024-10-04';
const none = { close: false, flagged: false, blocked: false, follows: false };

/** Facts, a store beside them that says what it is told to, and what a judge finds. */
class Scene {
  readonly #fold = new Fold();
  readonly #marks = new WindowMarks(this.#fold.facts);
  readonly #stored = new Map<string, StoredView>();
  readonly found: string[] = [];
  readonly beginnings: (() => Covered)[] = [];
  /** Happens after a view was read, before it is judged. */
  meanwhile: (() => void) | null = null;

  constructor() {
    this.apply('metros', 'portland', { ...sampleRecords.metros, metro: 'portland' });
    this.ride('A');
    this.apply('nights', `ride1/${dayText}`, { ...sampleRecords.nights, ride: 'ride1', day });
    for (const rider of ['r1', 'r2']) this.apply('riders', rider, { ...sampleRecords.riders, rider, handle: rider });
    this.relate(true);
    this.#fold.subscribe(this.#marks);
  }

  apply(topic: TopicName, key: string, value: AnyRecord | null): void {
    this.#fold.apply(topic, recordKey(topic, key), value as never);
  }

  ride(title: string): void {
    this.apply('rides', 'ride1', { ...sampleRecords.rides, ride: 'ride1', title, metro: 'portland', posted: true });
  }

  relate(follows: boolean): void {
    this.apply('relations', 'r1/r2', { ...sampleRecords.relations, ...none, rider: 'r1', other: 'r2', follows });
  }

  going(response: 'GOING' | 'NONE'): void {
    const answer = { ...sampleRecords.attendance, ride: 'ride1', day, rider: 'r2', response, saved: false } as const;
    this.apply('attendance', `ride1/${dayText}/r2`, answer);
  }

  /** The store has what the facts render now. */
  write(name: StoredName): void {
    const { kind, id, tag } = name;
    const write = new Comparison(this.#fold.facts).absent(name);
    this.#stored.delete(kind);
    if (write?.kind === 'reader') {
      const fields = new Map(write.fields.map(({ field, value }) => [field, Buffer.from(value!)]));
      this.#stored.set(kind, { tag, kind: 'reader', id, fields });
    } else if (write?.value) {
      this.#stored.set(kind, { tag, kind: write.kind, id, bytes: write.value, whole: true });
    }
  }

  /** Somebody else wrote a field. */
  spoil({ kind }: StoredName, field: string): void {
    const stored = this.#stored.get(kind) as Extract<StoredView, { fields: unknown }>;
    stored.fields!.set(field, Buffer.from('x'));
  }

  /** Somebody else wrote the key with another type. */
  retype({ tag, id }: StoredName): void {
    this.#stored.set('ride', { tag, kind: 'ride', id, bytes: null, whole: true });
  }

  async judge(name: StoredName) {
    const judge = new Judge({
      facts: this.#fold.facts,
      marks: this.#marks,
      store: { read: async (names) => names.map(({ kind }) => this.#stored.get(kind) ?? null) },
      begin: async () => {
        this.#marks.begin();
        return this.beginnings.shift()!();
      },
      end: async () => {
        this.meanwhile?.();
        this.meanwhile = null;
      },
      onDifferences: (differences) =>
        this.found.push(...differences.map(({ what, field }) => `${what} ${field ?? name.kind}`)),
    });
    judge.suspect(name);
    return judge.run(null);
  }
}

const named = (kind: 'ride' | 'reader', id: string): StoredName => ({ tag: tagOf(id), kind, id });
const ride = named('ride', 'ride1');
const reader = named('reader', 'r1');
const coveredBy =
  (name: StoredName, ...fanOuts: StoredFanOut[]) =>
  (): Covered =>
    new Map([[name.tag, fanOuts]]);
const nothing = { unknown: [], changing: 0 };

describe('a judge', () => {
  it('finds a view that no change of the window touches', async () => {
    const scene = new Scene();
    scene.write(ride);
    scene.ride('B');
    scene.beginnings.push(coveredBy(ride));
    expect(await scene.judge(ride)).toEqual(nothing);
    expect(scene.found).toEqual(['different ride']);
  });

  it('says nothing of a view that changed after it was read, and looks at it again', async () => {
    const scene = new Scene();
    scene.write(ride);
    scene.meanwhile = () => scene.ride('B');
    scene.beginnings.push(coveredBy(ride), () => {
      scene.write(ride);
      return coveredBy(ride)();
    });
    scene.ride('A');
    expect(await scene.judge(ride)).toEqual(nothing);
    expect(scene.found).toEqual([]);
  });

  it('says nothing of a view that changed there and back while it was read', async () => {
    const scene = new Scene();
    scene.ride('B');
    scene.write(ride);
    scene.ride('A');
    scene.beginnings.push(
      () => {
        // Whoever wrote what is read had folded this, and not yet what follows.
        scene.ride('B');
        return coveredBy(ride)();
      },
      () => {
        scene.write(ride);
        return coveredBy(ride)();
      },
    );
    scene.meanwhile = () => scene.ride('A');
    expect(await scene.judge(ride)).toEqual(nothing);
    expect(scene.found).toEqual([]);
  });

  it('says nothing while changes before the window may not be written, and that they are unknown if they never are', async () => {
    const scene = new Scene();
    scene.write(ride);
    scene.ride('B');
    scene.beginnings.push(() => new Map());
    expect(await scene.judge(ride)).toEqual({ unknown: [ride], changing: 0 });
    expect(scene.found).toEqual([]);
  });

  it('says that a view changes all the while', async () => {
    const scene = new Scene();
    for (let i = 0; i < 5; i++) {
      scene.beginnings.push(() => {
        scene.write(ride);
        scene.ride(`${i}`);
        return coveredBy(ride)();
      });
    }
    expect(await scene.judge(ride)).toEqual({ unknown: [], changing: 1 });
    expect(scene.found).toEqual([]);
  });

  it.each([
    ['', (_: Scene) => {}],
    [', also where the reader unfollows them', (scene: Scene) => scene.relate(false)],
  ])('says nothing of a reader while a fan-out of a rider they see is under way%s', async (_, change) => {
    const scene = new Scene();
    scene.going('GOING');
    scene.write(reader);
    scene.going('NONE');
    scene.beginnings.push(
      () => {
        change(scene);
        return coveredBy(reader, ['r2', [day]])();
      },
      () => {
        scene.write(reader);
        return coveredBy(reader)();
      },
    );
    expect(await scene.judge(reader)).toEqual(nothing);
    expect(scene.found).toEqual([]);
  });

  it.each([
    ['of another day', ['r2', [day + 1]]],
    ['of a rider they do not see', ['r9', [day]]],
  ] as [string, StoredFanOut][])('finds a reader’s field beside a fan-out %s', async (_, fanOut) => {
    const scene = new Scene();
    scene.apply('riders', 'r9', { ...sampleRecords.riders, rider: 'r9', handle: 'r9' });
    scene.going('GOING');
    scene.write(reader);
    scene.going('NONE');
    scene.beginnings.push(coveredBy(reader, fanOut));
    expect(await scene.judge(reader)).toEqual(nothing);
    expect(scene.found).toEqual([`extra f${dayText}`]);
  });
});

describe('a judge of many', () => {
  /** What is asked of the store and of the log, in order. */
  function judging(views: (name: StoredName) => StoredView | null = () => null) {
    const facts = new Fold().facts;
    const asked: unknown[][] = [];
    const found: string[] = [];
    const covered: Covered[] = [];
    const judge = new Judge({
      facts,
      marks: new WindowMarks(facts),
      store: {
        async read(names) {
          asked.push(['read', names.length]);
          return names.map(views);
        },
      },
      async begin(tags) {
        asked.push(['begin', ...tags]);
        return covered.shift()!;
      },
      end: async () => void asked.push(['end']),
      onDifferences: (differences) => found.push(...differences.map(({ what, name: { id } }) => `${what} ${id}`)),
    });
    return { asked, found, covered, judge };
  }
  const strange = (id: string, tag = 3): StoredName => ({ tag, kind: 'ride', id });
  const extra = ({ tag, kind, id }: StoredName) =>
    ({ tag, kind, id, bytes: Buffer.from('x'), whole: true }) as StoredView;

  it('reads 500 views at a time, each but once, and begins a window for their tags', async () => {
    for (const [count, ...reads] of [
      [500, 500],
      [501, 500, 1],
    ] as const) {
      const { asked, judge, covered } = judging();
      for (let i = 0; i < count; i++) judge.suspect(strange(`r${i}`, i % 2));
      judge.suspect(strange('r0', 0));
      covered.push(new Map([0, 1].map((tag) => [tag, []])));
      expect(await judge.run(null)).toEqual(nothing);
      expect(asked).toEqual([['begin', 0, 1], ...reads.flatMap((names) => [['read', names], ['end']])]);
    }
  });

  it('begins none where one has begun, and knows nothing of tags that nobody leads', async () => {
    const [led, unled] = [strange('led', 3), strange('unled', 4)];
    const window = new Map([[3, []]]);
    const one = judging(extra);
    for (const name of [led, unled]) one.judge.suspect(name);
    one.covered.push(window, window, window, window);
    expect(await one.judge.run(window)).toEqual({ unknown: [unled], changing: 0 });
    expect(one.found).toEqual(['extra led']);
    const read = (names: number) => [['read', names], ['end']];
    const again = Array.from({ length: 4 }, () => [['begin', 4], ...read(1)]).flat();
    expect(one.asked).toEqual([...read(2), ...again]);
    const none = judging(extra);
    for (const name of [led, unled]) none.judge.suspect(name);
    expect(await none.judge.run(new Map())).toEqual({ unknown: [led, unled], changing: 0 });
    expect([none.asked, none.found]).toEqual([read(2), []]);
  });

  it('is certain of what no projector writes, also where nobody leads and in no tag', async () => {
    const { asked, found, judge, covered } = judging((name) =>
      name.kind === 'foreign' ? extra(name) : ({ ...extra(name), bytes: null } as StoredView),
    );
    judge.suspect({ tag: -1, kind: 'foreign', id: 'junk' });
    covered.push(new Map());
    expect(await judge.run(null)).toEqual(nothing);
    expect([asked[0], found]).toEqual([['begin'], ['extra junk']]);
  });
});

it('a judge tells a field of a rider once, and goes on with the others of the same rider', async () => {
  const scene = new Scene();
  scene.going('GOING');
  scene.write(reader);
  scene.going('NONE');
  // Another field that is wrong beside the one which is awaited.
  scene.spoil(reader, 'o2024-09-23');
  const awaited = coveredBy(reader, ['r2', [day]]);
  scene.beginnings.push(awaited, awaited, coveredBy(reader));
  expect(await scene.judge(reader)).toEqual(nothing);
  expect(scene.found).toEqual(['extra o2024-09-23', `extra f${dayText}`]);
});

it('a judge is certain of a key of another type, also where nobody leads', async () => {
  const scene = new Scene();
  scene.retype(ride);
  scene.beginnings.push(() => new Map());
  expect(await scene.judge(ride)).toEqual(nothing);
  expect(scene.found).toEqual(['wrong type ride']);
});
