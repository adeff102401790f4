import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { serviceUrl } from '../../../../api/messages/service-url.ts';
import { ownCookie } from '../../../../api/sign-in/routes/own-cookies.ts';

test.each([
  ['https://rides.example/api', '__Host-ride_calendar__x=1; Path=/; HttpOnly; SameSite=Lax; Max-Age=5; Secure'],
  ['http://127.0.0.1:8080/api', 'ride_calendar_8080_x=1; Path=/; HttpOnly; SameSite=Lax; Max-Age=5'],
])('at %s a cookie of ours is %s', async (baseUrl, line) => {
  const app = Fastify();
  app.get('/', async (_, reply) => ownCookie(serviceUrl(baseUrl), 'x', '1').set(reply, '1', 5));
  expect((await app.inject('/')).headers['set-cookie']).toBe(line);
});
