import { startRedisServer } from '../../infra/local/redis-server.ts';
import type { FriendsRound, FriendsSide } from './friends-server.ts';
import { measuredCore, otherCore, type PinnedProcess, pin, startPinned } from './pinned-process.ts';
import { median, table } from './statistics.ts';

const rounds = 11;
const sides: readonly { side: FriendsSide; name: string }[] = [
  { side: 'two values', name: 'bare: two GETs, one after the other, of as many bytes' },
  { side: 'same commands', name: 'bare: the same commands in two round trips' },
  { side: 'cached', name: '/me/friends, nights and cards kept' },
  { side: 'uncached', name: '/me/friends, nothing kept' },
];

/** /me/friends over 31 days with 60 nights against two bare Redis round trips of the same bytes. */
export async function benchFriends(): Promise<void> {
  pin(process.pid, otherCore);
  const server = await startRedisServer();
  pin(server.pid, otherCore);
  const projector = await startPinned('friends-server.ts', ['projector', server.url], otherCore);
  let api: PinnedProcess | null = null;
  try {
    await projector.ask('ready');
    api = await startPinned('friends-server.ts', ['api', server.url], measuredCore);
    const sizes = await api.ask<{ trips: { bytes: number; commands: number }[]; body: number; nights: number }>(
      'sizes',
    );
    const alone = await measure(api, 60, 1);
    const many = await measure(api, 300, 32);
    const trips = sizes.trips.map(({ bytes, commands }) => `${bytes} B in ${commands} values`).join(', ');
    console.log(
      `/me/friends, 31 days, ${sizes.nights} nights, ${sizes.body} B; it reads ${trips} and the reader's fields`,
    );
    const bare = {
      alone: alone.get('same commands')!,
      many: many.get('same commands')!,
      two: alone.get('two values')!,
    };
    const rows = sides.map(({ side, name }) => {
      const one = alone.get(side)!;
      const all = many.get(side)!;
      return [
        name,
        `${one.micros.toFixed(0)} µs`,
        (one.micros / bare.alone.micros).toFixed(2),
        (one.micros / bare.two.micros).toFixed(2),
        `${all.cpuMicros.toFixed(0)} µs`,
        (all.cpuMicros / bare.many.cpuMicros).toFixed(2),
      ];
    });
    console.log(
      table(['', 'one by one', 'to same commands', 'to two GETs', 'CPU, 32 at a time', 'to same commands'], rows),
    );
    console.log('The aim is 1.5 times two bare round trips');
  } finally {
    await api?.end();
    await projector.end();
    await server.stop();
  }
}

/** Medians over alternating rounds. */
async function measure(api: PinnedProcess, count: number, at: number): Promise<Map<FriendsSide, FriendsRound>> {
  const results = new Map<FriendsSide, FriendsRound[]>(sides.map(({ side }) => [side, []]));
  for (let round = -3; round < rounds; round++) {
    for (const { side } of sides) {
      const measured = await api.ask<FriendsRound>({ side, count, at });
      if (round >= 0) results.get(side)!.push(measured);
    }
  }
  return new Map(
    [...results].map(([side, all]) => [
      side,
      { cpuMicros: median(all.map((r) => r.cpuMicros)), micros: median(all.map((r) => r.micros)) },
    ]),
  );
}
