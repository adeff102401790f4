import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { freePorts } from '../../infra/local/free-port.ts';
import { type Env, Processes, type RunningService } from '../support/processes/process.ts';
import { testStack } from '../support/processes/test-stack.ts';
import { freshRedis } from '../support/servers/backends.ts';
import { portlandDirectory, portlandKeys } from '../support/worlds/portland.ts';

// What a load balancer sees: who is ready, and who is about to end. Health and metrics are on a port for operators.

const processes = testStack().use(new Processes());
const redis = freshRedis();
const env = { ...redis, NOW: '2015-06-13T19:00:00Z', DRAIN_SECONDS: '2' };
/** Of the projector and two APIs: its own port, and that for operators. */
let ports: [own: number, operators: number][];
const startAt = (i: number, command: string, more: Env): Promise<RunningService> => {
  const [PORT, METRICS_PORT] = ports[i]!.map(String) as [string, string];
  return processes.start(command, { ...more, PORT, METRICS_PORT });
};

beforeAll(async () => {
  const free = await freePorts(6);
  ports = [0, 2, 4].map((i) => [free[i]!, free[i + 1]!]);
  const projector = await startAt(0, 'projector', { ...redis, ARCHIVE_DIR: portlandDirectory });
  await projector.printed('Ready: ');
});

const path = '/api/metros/portland/days/2015-06-13';
const headers = { 'X-Api-Key': portlandKeys.live };

/** The status of a request on a connection of its own, or how it failed. */
const statusOf = (port: number, route: string): Promise<number | string> =>
  new Promise((resolve) => {
    const failed = ({ code }: NodeJS.ErrnoException) => resolve(String(code));
    get(`http://127.0.0.1:${port}${route}`, { agent: false, headers, timeout: 5_000 }, (response) => {
      response.on('error', failed).on('end', () => resolve(response.statusCode!));
      response.resume();
    }).on('error', failed);
  });

it('a rolling restart of APIs loses no read of clients that open a connection for each, to an API that is ready; one that was told to stop is unready at once, and its answers are the last of their connections', async () => {
  const apis = await Promise.all([1, 2].map((i) => startAt(i, 'api', env)));
  // For a proxy that did not notice that it was gone, an API answers from its first connection on. Before it serves, it looks for a
  // moment whether the port is free, and resets who comes in that moment.
  const first = async (): Promise<number | string> => {
    const early = apis[0]!.err().includes('Serving ') ? ['ECONNREFUSED'] : ['ECONNREFUSED', 'ECONNRESET'];
    const status = await statusOf(ports[1]![0], path);
    return early.includes(String(status)) ? first() : status;
  };
  expect(await first()).toBe(200);
  // Which APIs are ready, asked four times a second, as a load balancer does.
  const ready = new Set<number>();
  let over = false;
  const follow = async ([own, operators]: [number, number]): Promise<void> => {
    for (; !over; await sleep(250)) {
      if ((await statusOf(operators, '/readyz')) === 200) ready.add(own);
      else ready.delete(own);
    }
  };
  const statuses: Record<string, number> = {};
  const read = async (): Promise<void> => {
    // The APIs that start meanwhile need the core.
    for (let turn = 0; !over; await sleep(25)) {
      const status = await statusOf([...ready][turn++ % ready.size]!, path);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  const bothReady = () => expect.poll(() => ready.size).toBe(2);
  const following = ports.slice(1).map(follow);
  await bothReady();
  const readers = [read(), read()];
  for (const [i, api] of apis.entries()) {
    const stopped = api.stop();
    if (i === 0) {
      await api.printed('not ready any more');
      const readyz = await fetch(`http://127.0.0.1:${ports[1]![1]}/readyz`);
      const reason = 'the process was told to stop';
      expect([readyz.status, await readyz.json()]).toEqual([503, { status: 'not ready', reason }]);
      const answer = await fetch(api.origin + path, { headers });
      expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    }
    expect(await stopped).toMatchObject({ code: 0 });
    await startAt(i + 1, 'api', env);
    await bothReady();
  }
  over = true;
  await Promise.all([...readers, ...following]);
  expect(Object.keys(statuses)).toEqual(['200']);
  expect(statuses[200]).toBeGreaterThan(50);
});

it('a port for operators takes health and metrics of an API and of a projector off the service’s own', async () => {
  const [[own, operators], [ofApi, operatorsOfApi]] = ports as [[number, number], [number, number]];
  const four = [ofApi, operatorsOfApi, own, operators];
  for (const route of ['/healthz', '/readyz', '/metrics'])
    expect(await Promise.all(four.map((port) => statusOf(port, route)))).toEqual([404, 200, 'ECONNREFUSED', 200]);
});
