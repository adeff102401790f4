// A website that shows the next 30 days. Once a minute it asks for each of them, and is sent only those that changed.
// With the service running: KEY=rck_… node docs/website-example.js [base URL] [metro]
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const [baseUrl = 'http://127.0.0.1:8080/api', metro = 'portland'] = process.argv.slice(2);
const { KEY: key, PORT: port = '3000', EVERY_MS: everyMs = '60000' } = process.env;
const escapes = { '&': '&amp;', '<': '&lt;', '"': '&quot;' };
const htmlOf = (text) => text.replace(/[&<"]/g, (letter) => escapes[letter]);

// What was sent last of each day, with the ETag that it had.
const days = new Map();

async function pull() {
  const wanted = Array.from({ length: 30 }, (_, n) => new Date(Date.now() + n * 864e5).toISOString().slice(0, 10));
  for (const day of days.keys()) if (!wanted.includes(day)) days.delete(day);
  let changed = 0;
  for (const day of wanted) {
    const etag = days.get(day)?.etag;
    const response = await fetch(`${baseUrl}/metros/${metro}/days/${day}`, {
      // The key stays in this process: no page and no app contains it.
      headers: { 'X-Api-Key': key, ...(etag && { 'If-None-Match': etag }) },
      signal: AbortSignal.timeout(10_000),
    });
    if (response.status === 304) continue;
    if (!response.ok) throw new Error(`${day}: ${response.status} ${await response.text()}`);
    days.set(day, { etag: response.headers.get('etag'), nights: (await response.json()).nights });
    changed += 1;
  }
  console.log(`${days.size} days, ${changed} changed`);
}

createServer((_request, response) => {
  const lines = [...days].flatMap(([day, { nights }]) => nights.map(({ title }) => `<li>${day} ${htmlOf(title)}</li>`));
  response.setHeader('Content-Type', 'text/html; charset=utf-8').end(`<ul>${lines.join('\n')}</ul>`);
}).listen(Number(port), '127.0.0.1', () => console.log(`Open http://127.0.0.1:${port}`));

// After a failure the page shows what it has, and the next minute asks again.
for (;;) {
  await pull().catch((error) => console.error(`Not pulled: ${error.message}`));
  await sleep(Number(everyMs));
}
