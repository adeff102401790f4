// A website that shows tonight's rides and those of the next days. Once a minute it asks for each day, and is sent only what
// changed. With the service running:
//   KEY=rck_… node docs/website-example.js [base URL] [metro] [its time zone] [first day, in place of tonight]
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

// A website knows its metros: the API tells a metro's zone in each night, but a day may have none.
const [baseUrl = 'http://127.0.0.1:8080/api', metro = 'portland', zone = 'America/Los_Angeles', firstDay] =
  process.argv.slice(2);
const { KEY: key, PORT: port = '3000', EVERY_MS: everyMs = '60000', DAYS: count = '30' } = process.env;

/** Tonight is the metro's own date, whatever zone this server is in. The Swedish locale writes YYYY-MM-DD. */
const today = () => new Intl.DateTimeFormat('sv', { timeZone: zone }).format(new Date());
/** A date some days later. Dates have no clock, so UTC serves: no day of it has 23 or 25 hours. */
const later = (day, n) => new Date(Date.parse(`${day}T00:00:00Z`) + n * 864e5).toISOString().slice(0, 10);

/** What was sent last of each day, with its ETag; and, where a day could not be had, when to ask for it again. */
const days = new Map();

async function pull() {
  const first = firstDay ?? today();
  const wanted = Array.from({ length: Number(count) }, (_, n) => later(first, n));
  for (const day of days.keys()) if (!wanted.includes(day)) days.delete(day);
  let changed = 0;
  for (const day of wanted) {
    const known = days.get(day) ?? { nights: null, etag: null, notBefore: 0 };
    days.set(day, known);
    // One day that fails keeps no other from being asked for.
    if (Date.now() >= known.notBefore) changed += await pullDay(day, known).catch((error) => failed(day, error));
  }
  console.log(`${days.size} days from ${first}, ${changed} changed`);
}

/** Asks for one day. Returns 1 if it changed, else 0. */
async function pullDay(day, known) {
  const response = await fetch(`${baseUrl}/metros/${metro}/days/${day}`, {
    // The key stays in this process: no page and no app contains it.
    headers: { 'X-Api-Key': key, ...(known.etag && { 'If-None-Match': known.etag }) },
    signal: AbortSignal.timeout(10_000),
  });
  if (response.status === 304) return 0;
  if (!response.ok) {
    // A 503 says in how many seconds it is worth asking again.
    known.notBefore = Date.now() + Number(response.headers.get('retry-after') ?? 0) * 1000;
    throw new Error(`${response.status} ${await response.text()}`);
  }
  known.nights = (await response.json()).nights;
  known.etag = response.headers.get('etag');
  return 1;
}

/** The page goes on showing what it has of the day. */
function failed(day, error) {
  console.error(`Not pulled: ${day}: ${error.message}`);
  return 0;
}

const escapes = { '&': '&amp;', '<': '&lt;', '"': '&quot;' };
const html = (text) => text.replace(/[&<"]/g, (letter) => escapes[letter]);
const dateWords = new Intl.DateTimeFormat('en', { weekday: 'long', month: 'long', day: 'numeric', timeZone: 'UTC' });

function nightHtml({ title, meet_time, status, cancellation_reason, past, going_count, meeting, url }) {
  const isOff = status === 'cancelled';
  const name = `<a href="${html(url)}">${html(title)}</a>`;
  const place = meeting.withheld ? 'Secret meeting point' : (meeting.place_name ?? 'Meeting point not given');
  const where = [place, meeting.neighbourhood, `${going_count} going`].filter((part) => part !== null);
  const reason = isOff
    ? `<strong>Called off${html(cancellation_reason ? `: ${cancellation_reason}` : '')}</strong><br>`
    : '';
  return `<li${past ? ' class="past"' : ''}><b>${meet_time ?? 'Time open'}</b> ${isOff ? `<s>${name}</s>` : name}<br>
${reason}${html(where.join(' · '))}</li>`;
}

function dayHtml([day, { nights }]) {
  const list = nights?.length
    ? `<ul>${nights.map(nightHtml).join('')}</ul>`
    : nights
      ? '<p>No ride.</p>'
      : '<p>Not known yet.</p>';
  return `<h2>${day === today() ? 'Tonight, ' : ''}${dateWords.format(new Date(day))}</h2>${list}`;
}

const page = () => `<!doctype html><html lang="en"><meta charset="utf-8"><title>Group rides</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body{font:1rem/1.5 system-ui;max-width:40rem;margin:auto;padding:1rem;color-scheme:light dark}.past{opacity:.7}</style>
<h1>Group rides</h1>${[...days].map(dayHtml).join('\n')}</html>`;

createServer((_request, response) => {
  response.setHeader('Content-Type', 'text/html; charset=utf-8').end(page());
}).listen(Number(port), '127.0.0.1', () => console.log(`Open http://127.0.0.1:${port}`));

for (;;) {
  await pull();
  await sleep(Number(everyMs));
}
