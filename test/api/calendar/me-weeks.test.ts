import { beforeAll, describe, expect, it } from 'vitest';
import type { FlaggedNights } from '../../../schemas/interface/answers.ts';
import { dayText } from '../../../schemas/views/days.ts';
import { portlandNowMs, portlandViews } from '../../support/portland-service.ts';
import { answering } from '../../support/service.ts';

/** Stored fields of flagged riders show whole weeks; answers show the days that were asked for. */

let api: ReturnType<typeof answering>;

beforeAll(async () => {
  const views = await portlandViews();
  api = answering(views.reader(), () => portlandNowMs);
});

const today = Math.floor(portlandNowMs / 86_400_000);

async function flagged(rider: string, from: number, to: number): Promise<FlaggedNights['nights']> {
  const range = `metro=portland&from=${dayText(from)}&to=${dayText(to)}`;
  const { status, body } = await api.get(`/me/flagged?${range}`, { authorization: `Bearer ${rider}` });
  expect(status).toBe(200);
  return (JSON.parse(body) as FlaggedNights).nights;
}

describe('flagged nights', () => {
  it('of a range are those of its days, wherever in their weeks it begins and ends', async () => {
    let seen = 0;
    for (const rider of ['r0020', 'r0001', 'r0100', 'r0200', 'r0300']) {
      for (let from = today - 7; from < today; from++) {
        const to = from + (from % 10);
        const daily = [];
        for (let day = from; day <= to; day++) daily.push(...(await flagged(rider, day, day)));
        const whole = await flagged(rider, from, to);
        expect(whole).toEqual(daily);
        expect(whole.every(({ day }) => day >= dayText(from) && day <= dayText(to))).toBe(true);
        seen += whole.length;
      }
    }
    expect(seen).toBeGreaterThan(10);
  });
});
