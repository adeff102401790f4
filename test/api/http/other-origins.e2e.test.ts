import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../../support/processes/browser.ts';
import { type HttpService, startHttpService } from '../../support/processes/http-service.ts';
import { publicOperations, riderOperations, smallWorld, withKey } from '../../support/worlds/small-world.ts';

/** The interface as a page of another origin sees it, in a real browser (docs/rules.md#options, #cors). */

describe('a page of another origin in Chromium', () => {
  let service: HttpService;
  let elsewhere: Server;
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    service = await startHttpService();
    elsewhere = createServer((_request, response) => response.setHeader('Content-Type', 'text/html').end('<p>'));
    await once(elsewhere.listen(0, '127.0.0.1'), 'listening');
    browser = await launchBrowser();
    page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`);
  });
  afterAll(async () => {
    await browser?.close();
    elsewhere?.close();
    await service?.close();
  });

  /** What fetch gives to the page; its error's name where the browser refuses. */
  const ask = (path: string, init: RequestInit): Promise<{ status: number; etag: string | null } | string> =>
    page.evaluate(
      `fetch(${JSON.stringify(`http://127.0.0.1:${service.port}/api${path}`)}, ${JSON.stringify(init)})
        .then((answer) => ({ status: answer.status, etag: answer.headers.get('etag') }), (error) => error.name)`,
    );
  // What common wrappers of fetch add to every request.
  const added = {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-cache',
    'X-Requested-With': 'XMLHttpRequest',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  };

  it.each([...publicOperations, ...riderOperations])(
    'reads $name with the headers that wrappers of fetch add, and again by ETag',
    async ({ path, headers }) => {
      const first = await ask(path, { headers: { ...headers, ...added } });
      expect(first).toEqual({ status: 200, etag: expect.stringMatching(/^"/) });
      const { etag } = first as { etag: string };
      const again = await ask(path, { headers: { ...headers, ...added, 'If-None-Match': etag } });
      expect(again).toEqual({ status: 304, etag });
    },
  );

  it('never reads with the cookies of its visitor', async () => {
    const credentials = { headers: { ...withKey() }, credentials: 'include' as const };
    expect(await ask(smallWorld.day, credentials)).toBe('TypeError');
  });
});
