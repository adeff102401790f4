import { expect, it } from 'vitest';
import { gone, marks, metro, night, ride, rider, says } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { startHttpService } from '../../support/processes/http-service.ts';
import { withToken } from '../../support/worlds/small-world.ts';

const [taco, zoo, oak] = ['2015-06-13', '2015-06-14', '2015-05-20'];
const months = 'metro=pdx&from=2015-05-20&to=2015-06-18';
const paths = ['/me/nights', ...['known', 'friends', 'flagged'].map((name) => `/me/${name}?${months}`)];

const world = [
  metro('pdx'),
  ...['ada', 'bob', 'cy', 'di', 'ed'].map((id) => rider(id)),
  ...[ride('taco', { title: 'Tacos' }), ride('zoobomb', { title: 'Zoo' }), ride('oaks', { title: 'Oaks' })],
  ...[night('taco', taco), night('zoobomb', zoo), night('oaks', oak)],
  ...['bob', 'cy'].map((friend) => marks('ada', friend, 'follows')),
  marks('ada', 'di', 'follows', 'flagged'),
  ...['ada', 'bob', 'cy', 'di'].map((id) => says(id, 'GOING', 'taco', taco)),
  ...['bob', 'di'].map((id) => says(id, 'GOING', 'oaks', oak)),
  says('ada', 'CONFIRMED', 'oaks', oak),
];

/** Each changes one of the answers at least. */
const changes: LoggedRecord[][] = [
  [says('di', 'NONE', 'taco', taco), says('di', 'GOING', 'zoobomb', zoo), says('ed', 'GOING', 'zoobomb', zoo)],
  // The same riders in the same order, and as many on each night.
  [
    ...[says('cy', 'NONE', 'taco', taco), says('cy', 'GOING', 'zoobomb', zoo)],
    ...[says('ed', 'GOING', 'taco', taco), says('ed', 'NONE', 'zoobomb', zoo)],
  ],
  ...[
    ...[marks('ada', 'bob', 'follows', 'close'), marks('ada', 'bob', 'close'), marks('ada', 'bob', 'close', 'flagged')],
    ...[says('ada', 'GOING', 'oaks', oak), says('bob', 'NONE', 'taco', taco), says('bob', 'GOING', 'zoobomb', zoo)],
    ...[rider('cy', { name: 'Al' }), rider('cy', { handle: 'al' }), rider('cy', { handle: 'al', name: null })],
    ...[ride('taco', { title: 'Burritos' }), night('taco', taco, { meet_time: 1 }), gone('nights', `oaks/${oak}`)],
    ...[says('ada', 'NONE', 'taco', taco, true), says('ada', 'GOING', 'zoobomb', zoo), marks('cy', 'ada', 'blocked')],
    ...[ride('taco', { leaders: ['ada'] }), gone('riders', 'bob'), rider('bob', { name: 'di', handle: 'h-di' })],
    ...[marks('ada', 'bob'), marks('ada', 'bob', 'follows')],
  ].map((record) => [record]),
  // A flagged rider goes to the other of two nights of the reader's, and as many go to each.
  [
    ...[says('di', 'NONE', 'zoobomb', zoo), says('di', 'GOING', 'taco', taco)],
    ...[says('ed', 'NONE', 'taco', taco), says('ed', 'GOING', 'zoobomb', zoo)],
  ],
];

// docs/rules.md#etag
it('a rider’s answer has another ETag whenever its bytes are others: after each change that it shows, and past midnight', async () => {
  const startMs = Date.parse('2015-06-12T12:00:00Z');
  let days = 0;
  const service = await startHttpService({ records: world, calendarNowMs: () => startMs + days * 86_400_000 });
  const bodies = new Map<string, string>();
  let last: string[] = [];
  const look = async (after: string): Promise<void> => {
    const seen: string[] = [];
    for (const path of paths) {
      const { body, headers } = await service.ask(path, withToken());
      const named = `${path} ${headers.etag}`;
      expect(bodies.get(named) ?? body.toString(), `${path} after ${after}`).toBe(body.toString());
      bodies.set(named, body.toString());
      seen.push(body.toString());
    }
    expect(seen, after).not.toEqual(last);
    last = seen;
  };
  await look('the first log');
  for (const change of changes) {
    await service.publish(change);
    await look(JSON.stringify(change));
  }
  for (days of [2, 3, 120]) await look(`${days} days`);
});
