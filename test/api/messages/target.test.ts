import { describe, expect, it } from 'vitest';
import { routePath } from '../../../api/messages/target.ts';

describe.each(['', '/calendar/api'])('below %j, a path', (base) => {
  it.each([
    ['/metros/portland/days/2026-01-01', 'getDay', ['portland', '2026-01-01']],
    ['/rides/a%2Fb', 'getRide', ['a%2Fb']],
    ['/%72ides/%61bcd', 'getRide', ['%61bcd']],
    ['/me/fl%61gged', 'getFlagged', []],
  ])('%s is a route', (path, operation, segments) =>
    expect(routePath(base, base + path)).toEqual({ operation, segments }),
  );

  it.each([
    ...['', '/rides', '/rides/abcd/', '//rides/abcd', '/Rides/abcd', '/%2572ides/abcd', '/rid\xe9s/abcd'],
    ...['/%FFides/abcd', '/metros/portland/days', '/metros%2Fp/days/2026-01-01', '/me', '/me/%'],
  ])('%j is none', (path) => expect(routePath(base, base + path)).toBeNull());
});

describe('a base path', () => {
  it('is matched segment by segment, each decoded once', () => {
    expect(routePath('/calendar/api', '/%63alendar/ap%69/rides/abcd')?.operation).toBe('getRide');
    expect(routePath('/caf%C3%A9', '/caf%c3%a9/rides/abcd')?.operation).toBe('getRide');
  });

  it.each(['/apirides/abcd', '/ap/rides/abcd', '/rides/abcd', '/api', 'api/rides/abcd', '/%/rides/x'])(
    '%s is not below /api',
    (path) => expect(routePath('/api', path)).toBeNull(),
  );
});
