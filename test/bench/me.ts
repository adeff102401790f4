import { signSampleToken } from '../../api/sign-in/tokens/sample-token.ts';
import { loadSigningKeys } from '../../services/settings/sign-in-files.ts';
import { baseUrl, type Route, Services } from './answers.ts';
import { developerKey, from, fullDayPath, metro, meWorld, readers, to } from './me-world.ts';
import type { Bench, Figures } from './versions.ts';

const publicDay = 'public day';

/** CPU time of the API process for riders' own answers from Redis, as 64 riders, and for a public day beside them. */
export const me: Bench = {
  async prepare(versions, _, ended) {
    const services = await Services.start(versions, ['Redis'], meWorld(), ended);
    const keys = await loadSigningKeys(null, services.dir);
    const issuer = new URL(baseUrl).origin;
    const tokens = await Promise.all(
      readers.map((rider) => signSampleToken({ rider, keys, issuer, audience: baseUrl, lifetimeSeconds: 86_400 })),
    );
    const asReaders = (path: string) =>
      tokens.map((token) => ({ path: `/api${path}`, headers: { Authorization: `Bearer ${token}` } }));
    const routes: (Route & { aim?: string })[] = [
      {
        name: publicDay,
        requests: [{ path: `/api${fullDayPath}`, headers: { 'X-Api-Key': developerKey } }],
        status: 200,
      },
      { name: '/me/nights', requests: asReaders('/me/nights'), status: 200 },
      {
        name: '/me/friends',
        aim: '12',
        requests: asReaders(`/me/friends?metro=${metro}&from=${from}&to=${to}`),
        status: 200,
      },
    ];
    for (const route of routes) await services.assertSame(route);
    return {
      title: `Riders' own answers from Redis: CPU time of an answer, ${readers.length} riders`,
      rows: routes.map(({ name, aim }) => ({ name, unit: 'µs', ...(name !== publicDay && { to: publicDay, aim }) })),
      async measure(version) {
        const figures: Figures = {};
        for (const route of routes)
          figures[route.name] = await services.cpuMicros(services.of(version, 'Redis'), route);
        return figures;
      },
    };
  },
};
