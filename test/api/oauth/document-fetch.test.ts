import { expect, test } from 'vitest';
import { documentFetch } from '../../../api/oauth/document-fetch.ts';

const id = 'https://client.example/client.json';
const day = 86_400_000;

/** A host of documents whose answers the test sets; null: it can't be reached. */
function host() {
  const clock = { nowMs: 0 };
  let answer: () => Response | null = () => Response.json({ client_id: id, client_name: 'App' });
  const fetching = documentFetch(
    async () => {
      const response = answer();
      if (response === null) throw new TypeError('unreachable');
      return response;
    },
    () => clock.nowMs,
  );
  const read = async () => {
    const response = await fetching(id);
    return response.ok ? ((await response.json()) as Record<string, unknown>).client_name : response.status;
  };
  const answers = (next: () => Response | null): void => {
    answer = next;
  };
  return { clock, read, answers };
}

test('a document that can’t be had for a while is stood in for by the last one, for a day', async () => {
  const { clock, read, answers } = host();
  expect(await read()).toBe('App');
  answers(() => null);
  clock.nowMs = day - 1;
  expect(await read()).toBe('App');
  answers(() => new Response(null, { status: 503 }));
  expect(await read()).toBe('App');
  clock.nowMs = day;
  expect(await read()).toBe(503);
  answers(() => null);
  await expect(read()).rejects.toThrow('unreachable');
});

test('a document that was taken away is not stood in for, nor one that was never there', async () => {
  const { read, answers } = host();
  expect(await read()).toBe('App');
  answers(() => new Response(null, { status: 404 }));
  expect(await read()).toBe(404);
  answers(() => null);
  await expect(read()).rejects.toThrow('unreachable');
  const other = host();
  other.answers(() => null);
  await expect(other.read()).rejects.toThrow('unreachable');
});

test('a document that is wrong now is not stood in for', async () => {
  const { read, answers } = host();
  expect(await read()).toBe('App');
  answers(() => new Response('{', { headers: { 'content-type': 'application/json' } }));
  await expect(read()).rejects.toThrow(SyntaxError);
  answers(() => new Response('{}', { headers: { 'content-type': 'text/plain' } }));
  await expect(read()).rejects.toThrow('not JSON');
});
