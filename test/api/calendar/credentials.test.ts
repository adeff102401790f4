import { expect, it } from 'vitest';
import { isLive } from '../../../api/calendar/credentials.ts';
import { Entry } from '../../../api/calendar/views/view-cache.ts';
import { StoreAwayError } from '../../../api/ports/view-reader.ts';

const [there, gone, unknown] = [new Entry(Buffer.from('x'), false), new Entry(null, true), new Entry(null, false)];

// docs/rules.md#live-token, #developer-keys
it('a credential is live where one of its views is there, and not live only where that is certain', () => {
  for (const views of [[there], [gone, there], [there, gone], [unknown, there]]) expect(isLive(views)).toBe(true);
  for (const views of [[], [gone], [gone, gone]]) expect(isLive(views)).toBe(false);
  for (const views of [[unknown], [gone, unknown], [unknown, gone]])
    expect(() => isLive(views)).toThrow(StoreAwayError);
});
