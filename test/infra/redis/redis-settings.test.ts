import { once } from 'node:events';
import { connect } from 'node:tls';
import { expect, it } from 'vitest';
import { freePorts } from '../../../infra/local/free-port.ts';
import { reconnectDelayMs } from '../../../infra/redis/redis-settings.ts';

it('a second error of a TLS connection, such as an alert after its certificate was refused, ends no process', async () => {
  const socket = connect({ host: '127.0.0.1', port: (await freePorts(1))[0]! });
  await once(socket, 'error');
  expect(() => socket.emit('error', new Error('tlsv1 alert decode error'))).not.toThrow();
});

it('a connection that is lost is tried again soon, then less often, and never less than every second', () => {
  expect([0, 1, 4, 5, 20, 2_000].map(reconnectDelayMs)).toEqual([50, 100, 800, 1_000, 1_000, 1_000]);
});
