import { beforeAll, describe, expect, it } from 'vitest';
import * as answers from '../../../schemas/interface/answers.ts';
import { portlandKeys } from '../../support/portland.ts';
import { portlandNowMs, portlandViews } from '../../support/portland-service.ts';
import { answering, type Got } from '../../support/service.ts';

/** Answers of the service, held to the strict schemas: exactly the interface's fields, in its order. */

let api: ReturnType<typeof answering>;

beforeAll(async () => {
  const views = await portlandViews();
  api = answering(views.reader(), () => portlandNowMs);
});

interface Checked<T> {
  safeParse(value: unknown): { success: boolean; data?: T | undefined; error?: { message: string } | undefined };
}

function fitting<T>(schema: Checked<T>, { status, body }: Got, wanted = 200): T {
  expect(status).toBe(wanted);
  const value: unknown = JSON.parse(body);
  const { data, error } = schema.safeParse(value);
  expect(error?.message).toBeUndefined();
  // zod gives the fields in the schema's order: the same text means the same order, and JSON.stringify's spelling.
  expect(JSON.stringify(data)).toBe(body);
  return data as T;
}

const key = { 'x-api-key': portlandKeys.live };
const readers = ['r0020', 'r0001', 'r0100', 'r0200', 'r0300', 'r0400', 'r0500'];
const range = 'metro=portland&from=2015-06-01&to=2015-06-30';

// docs/rules.md#fields-of-answers
describe('every answer about Portland', () => {
  it('is exactly a Day or a Ride', async () => {
    const rides = new Set<string>();
    for (let day = 1; day <= 30; day++) {
      const date = `2015-06-${String(day).padStart(2, '0')}`;
      const { nights } = fitting(answers.calendarDay, await api.get(`/metros/portland/days/${date}`, key));
      for (const night of nights) rides.add(night.ride);
      fitting(answers.calendarDay, await api.get(`/metros/portland/days/${date}?q=ride&who=General`, key));
    }
    expect(rides.size).toBeGreaterThan(100);
    for (const ride of rides) fitting(answers.ride, await api.get(`/rides/${ride}`, key));
  });

  it("is exactly a rider's own", async () => {
    const seen = { nights: 0, known: 0, friends: 0, flagged: 0 };
    for (const rider of readers) {
      const bearer = { authorization: `Bearer ${rider}` };
      const get = (path: string) => api.get(path, bearer);
      seen.nights += fitting(answers.myNights, await get('/me/nights')).nights.length;
      seen.known += fitting(answers.knownNights, await get(`/me/known?${range}`)).nights.length;
      seen.friends += fitting(answers.friendNights, await get(`/me/friends?${range}`)).nights.length;
      fitting(answers.friendNights, await get(`/me/friends?${range}&close_friends_only=true`));
      seen.flagged += fitting(answers.flaggedNights, await get(`/me/flagged?${range}`)).nights.length;
    }
    for (const nights of Object.values(seen)) expect(nights).toBeGreaterThan(0);
  });

  it('is exactly an Error where it is refused', async () => {
    fitting(answers.errorAnswer, await api.get('/rides/none', key), 404);
    fitting(answers.errorAnswer, await api.get('/rides/', key), 400);
    fitting(answers.errorAnswer, await api.get('/rides/none'), 401);
    fitting(answers.errorAnswer, await api.get('/ride', key), 404);
  });
});
