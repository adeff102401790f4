import { expect, it } from 'vitest';
import { allTags, completeKey, tagOf } from '../../../schemas/views/view-keys.ts';
import { nightKey, parseKey, riderKey } from '../../../schemas/views/view-kinds.ts';
import { type HttpService, json, startHttpService } from '../../support/processes/http-service.ts';
import { valueWrite } from '../../support/stores/view-names.ts';
import { riderOperations, smallWorld, withKey, withToken } from '../../support/worlds/small-world.ts';
import { keyHash } from '../../support/worlds/universe.ts';
import { expectFailure } from './expect-failure.ts';

/**
 * Absence counts only where the store is known to be complete (docs/rules.md#absence): what is missing from an
 * incomplete tag is 503, and never a 404, a 401, an empty day or a shorter list. Over sockets.
 */

let service: HttpService;

/** Takes back the word that some tags are complete, and deletes views. */
async function lose(tags: readonly number[], keys: readonly string[] = []): Promise<void> {
  service = await startHttpService();
  for (const tag of tags) await service.projector.lanes.add(tag, valueWrite(completeKey(tag), null));
  for (const key of keys) await service.projector.lanes.add(parseKey(key).tag, valueWrite(key, null));
  await service.projector.lanes.drain();
}

type Question = readonly [path: string, headers: Record<string, string>];

async function expectUnavailable(path: string, headers: Record<string, string>): Promise<void> {
  const answer = await service.ask(path, headers);
  expectFailure(answer, 503, 'The calendar cannot be read just now; try again shortly.');
  expect(answer.headers['retry-after']).toBe('1');
  expect(answer.headers).not.toHaveProperty('www-authenticate');
}

const statusOf = async ([path, headers]: Question) => (await service.ask(path, headers)).status;

const tagOfKey = (text: string): number => tagOf(keyHash(text).toString('hex'));
const allBut = (...tags: number[]): number[] => allTags.filter((tag) => !tags.includes(tag));
const badKey = withKey(smallWorld.unknownKey);
const nobody = withToken('nobody');
const own = (headers = withToken()): Question[] => riderOperations.map(({ path }) => [path, headers]);
const ofMetro = riderOperations.filter(({ name }) => name !== 'getMyNights');

type Certain = [status: number, ...Question];
it.each<[what: string, lost: [tag: number, key?: string], unavailable: Question[], ...certain: Certain[]]>([
  [
    'a developer key',
    [tagOfKey(smallWorld.unknownKey)],
    // Not even whether inputs are wrong is said to whoever may not know.
    [smallWorld.day, smallWorld.ride, '/rides/x'].map((path) => [path, badKey]),
    [200, smallWorld.day, withKey()],
    [401, smallWorld.day, {}],
    [200, smallWorld.day, { ...badKey, ...withToken() }],
  ],
  [
    'the rider of a token',
    [tagOf('nobody')],
    // With a key that is certainly none, too.
    [[smallWorld.day, nobody], [smallWorld.day, { ...badKey, ...nobody }], ...own(nobody)],
    [200, smallWorld.day, { ...withKey(), ...nobody }],
  ],
  [
    'a ride',
    [tagOf('unknown')],
    [{}, { 'If-None-Match': '*' }].map((more) => ['/rides/unknown', { ...withKey(), ...more }]),
    [400, '/rides/x', withKey()],
  ],
  [
    'a metro',
    [tagOf('nowhere')],
    [
      ['/metros/nowhere/days/2015-06-13', withKey()],
      ...ofMetro.map(({ path }): Question => [path.replace('pdx', 'nowhere'), withToken()]),
    ],
  ],
  [
    'a day',
    [tagOf('pdx/2015-06-20')],
    [smallWorld.emptyDay, `${smallWorld.emptyDay}?q=loop`].map((path) => [path, withKey()]),
  ],
  ["a rider's own layer", [tagOf('ada')], own()],
  ['a night that it names', [tagOf('loop/2015-06-13'), nightKey('loop', '2015-06-13')], own()],
  ['a card that it names', [tagOf('cy'), riderKey('cy')], own()],
])('%s that is not there is 503 in an incomplete tag', async (_what, [tag, key], unavailable, ...certain) => {
  await lose([tag], key === undefined ? [] : [key]);
  for (const question of unavailable) await expectUnavailable(...question);
  for (const [status, ...question] of certain) expect([question, await statusOf(question)]).toEqual([question, status]);
});

it('what is there is answered from incomplete tags', async () => {
  await lose(allBut(tagOf('ada')));
  for (const headers of [withKey(), withToken()]) expect(await statusOf([smallWorld.day, headers])).toBe(200);
  for (const question of [[smallWorld.ride, withKey()] as const, ...own()]) expect(await statusOf(question)).toBe(200);
});

it('what is missing from a complete tag is gone, though every other tag is incomplete', async () => {
  const tags = [tagOf('unknown'), tagOf('pdx/2015-06-20'), tagOf('loop/2015-06-13'), tagOf('ada')];
  await lose(allBut(...tags), [nightKey('loop', '2015-06-13')]);
  expect(await statusOf(['/rides/unknown', withKey()])).toBe(404);
  expect(await statusOf([smallWorld.emptyDay, withKey()])).toBe(200);
  for (const question of own()) {
    const answer = await service.ask(...question);
    expect([question, answer.status]).toEqual([question, 200]);
    expect(answer.body.toString()).not.toContain('"day":"2015-06-13"');
  }
});

it('a night none of whose riders has a card is left out', async () => {
  await lose([], [riderKey('bo'), riderKey('cy')]);
  for (const { path } of ofMetro) expect(json(await service.ask(path, withToken()))).toMatchObject({ nights: [] });
});
