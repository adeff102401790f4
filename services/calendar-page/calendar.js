// The calendar page. The address bar holds all of its state, so links can be shared and Back works. It asks again every ten
// seconds, which costs a 304 where nothing changed.
import { ApiError, createApi } from './api.js';
import { addDays, dayInWords, isDay, localDate } from './dates.js';
import { element, nightCard } from './nights.js';
import { createSignIn } from './sign-in.js';

const refreshMs = 10_000;
const choices = {
  far: { under_5: 'Under 5', '5_to_10': '5 to 10', '10_to_20': '10 to 20', '20_to_40': '20 to 40', over_40: 'Over 40' },
  who: { General: 'Everybody', 'Family Friendly': 'Families', '21+ Only': 'Adults of 21 and over' },
  // The API has no list of neighbourhoods: these are added as nights show them.
  where: {},
};
const lists = Object.keys(choices);

const at = (id) => document.getElementById(id);
const config = await (await fetch(new URL('config.json', import.meta.url))).json();
// Sign-in comes back to the service's one address, and to a browser localhost is another one than 127.0.0.1.
const home = new URL('/calendar', config.baseUrl);
if (location.hostname === 'localhost' && home.hostname !== 'localhost') location.replace(home + location.search);

const signIn = config.clientId && createSignIn(config.baseUrl, config.clientId, home.href);
const get = createApi(config.baseUrl, async (isRiders) => {
  const key = config.key ?? sessionStorage.getItem('key');
  if (key && !isRiders) return { 'X-Api-Key': key };
  const token = signIn && (await signIn.accessToken());
  return token && { Authorization: `Bearer ${token}` };
});

// --- What the address bar says ---

let state;

function stateOf(search) {
  const query = Object.fromEntries(new URLSearchParams(search));
  const filters = Object.fromEntries(lists.map((name) => [name, query[name]?.split(',') ?? []]));
  const metro = config.metros.find(({ slug }) => slug === query.metro) ?? config.metros[0];
  const view = query.ride ? 'ride' : (['week', 'mine'].find((name) => name === query.view) ?? 'day');
  return {
    ...filters,
    q: query.q ?? '',
    metro,
    day: isDay(query.day ?? '') ? query.day : null,
    view,
    ride: query.ride,
  };
}

/** The address of what is shown now, but for some changes. What is empty is left out. */
function href(changes) {
  const { metro, view, ...rest } = { ...state, ride: null, ...changes };
  const own = rest.ride ? { ride: rest.ride } : { view: view === 'day' ? '' : view, ...rest };
  const given = Object.entries(own).filter(([, value]) => value?.length > 0);
  return `?${new URLSearchParams([['metro', metro.slug], ...given])}`;
}

function go(search) {
  history.pushState(null, '', search);
  show();
}

// --- What each view asks for ---

/** The metro's own date. The service's clock may stand still (`now`), to show old data. */
const today = () => localDate(state.metro.zone, config.now ? new Date(config.now) : new Date());
const nightId = ({ ride, day }) => `${ride}/${day}`;
const byNight = (nights, what) => Object.fromEntries(nights.map((each) => [nightId(each.night ?? each), what(each)]));

/** What a signed-in rider sees of the nights in a range: why one is theirs, friends who are going, riders they flagged. */
async function ownBetween(from, to) {
  if (!signIn?.isSignedIn()) return { own: () => ({}), requests: [] };
  const range = { metro: state.metro.slug, from, to };
  const paths = [['/me/nights'], ['/me/friends', range], ['/me/flagged', range]];
  const answers = await Promise.all(paths.map(([path, query]) => get(path, query, true)));
  const [mine, going, marked] = answers.map(({ answer }) => answer.nights);
  const why = byNight(mine, (each) => each.why);
  const friends = byNight(going, (each) => each.friends);
  const flagged = byNight(marked, ({ riders }) => riders);
  const own = (id) => ({ why: why[id], friends: friends[id], flagged: flagged[id] });
  return { own, requests: answers.map(({ request }) => request) };
}

/** Some days from one on: a part of the page for each. */
async function days(count) {
  const first = state.day ?? today();
  const all = Array.from({ length: count }, (_, i) => addDays(first, i));
  const { q, far, who, where, metro } = state;
  const [{ own, requests }, ...answers] = await Promise.all([
    ownBetween(first, all.at(-1)),
    ...all.map((day) => get(`/metros/${metro.slug}/days/${day}`, { q, far, who, where })),
  ]);
  for (const { meeting } of answers.flatMap(({ answer }) => answer.nights))
    if (meeting.neighbourhood_slug) choices.where[meeting.neighbourhood_slug] = meeting.neighbourhood;
  const isFiltered = q + far + who + where !== '';
  return answers.map(({ answer, request }, i) => ({
    heading: count > 1 ? dayInWords(answer.day, today()) : `${answer.nights.length || 'No'} rides`,
    nights: answer.nights.map((night) => ({ night, own: own(nightId(night)) })),
    empty: isFiltered ? 'No ride fits these filters.' : 'No ride meets on this day.',
    requests: i > 0 ? [request] : [request, ...requests],
  }));
}

/** Nights of several days: those to come, then the past ones, latest first. */
function inTime(nights, request, intro) {
  const past = nights.filter(({ night }) => night.past).reverse();
  const coming = nights.filter(({ night }) => !night.past);
  const parts = [{ intro, heading: 'Coming up', nights: coming, empty: 'Nothing is coming up.', requests: [request] }];
  return past.length > 0 ? [...parts, { heading: 'Past', nights: past, requests: [] }] : parts;
}

const views = {
  day: () => days(1),
  week: () => days(7),
  async ride() {
    const { answer, request } = await get(`/rides/${state.ride}`);
    at('heading').textContent = answer.title;
    const lines = [answer.type, answer.description].filter(Boolean);
    const intro = lines.map((line) => element('p', { class: 'text', dir: 'auto' }, line));
    const dated = (night) => ({ night: { ...night, title: dayInWords(night.day, today()) } });
    return inTime(answer.nights.map(dated), request, intro);
  },
  async mine() {
    const { answer, request } = await get('/me/nights', {}, true);
    const flagged = byNight(answer.flagged, ({ riders }) => riders);
    const own = ({ night, why }) => ({
      night,
      day: dayInWords(night.day, today()),
      own: { why, flagged: flagged[nightId(night)] },
    });
    return inTime(answer.nights.map(own), request, []);
  },
};

// --- Drawing ---

/** What needs no answer: the frame around the nights. */
function drawFrame() {
  const { view, metro, q } = state;
  const day = state.day ?? today();
  const words = dayInWords(day, today());
  if (view !== 'ride') at('heading').textContent = { mine: 'My nights', week: 'Seven days' }[view] ?? words;
  const isIn = signIn?.isSignedIn() ?? false;
  const step = view === 'week' ? 7 : 1;
  const links = {
    ...{ day: { view: 'day' }, week: { view: 'week' }, mine: { view: 'mine' } },
    ...{ before: { day: addDays(day, -step) }, tonight: { day: null }, after: { day: addDays(day, step) } },
    clear: { q: '', far: [], who: [], where: [] },
  };
  for (const [id, changes] of Object.entries(links)) at(id).href = href(changes);
  for (const id of ['day', 'week', 'mine']) at(id).ariaCurrent = id === view ? 'page' : null;
  at('metro').value = metro.slug;
  at('mine').hidden = !isIn;
  at('account').hidden = !signIn;
  at('account').textContent = isIn ? 'Sign out' : 'Sign in';
  at('days').hidden = at('filters').hidden = view === 'ride' || view === 'mine';
  at('q').value = q;
  const chosen = lists.flatMap((name) => state[name]).length;
  at('chosen').textContent = chosen > 0 ? `(${chosen} chosen)` : '';
  for (const name of lists) drawChoices(name);
}

/** A box for each choice. Those that are there stay, and with them the keyboard's place. */
function drawChoices(name) {
  const boxes = () => [...at(name).querySelectorAll('input')];
  const there = boxes().map(({ value }) => value);
  for (const value of new Set([...state[name], ...Object.keys(choices[name])]).difference(new Set(there))) {
    const box = element('input', { type: 'checkbox', name, value });
    at(name).append(element('label', {}, box, ` ${choices[name][value] ?? value}`));
  }
  for (const box of boxes()) box.checked = state[name].includes(box.value);
}

/** What was drawn of each night, to mark what changed since. */
let drawn = {};

function drawParts(parts, isRefresh) {
  const before = drawn;
  drawn = {};
  const wasOpen = [...document.querySelectorAll('.requests')].map(({ open }) => open);
  const focused = document.activeElement.closest('article')?.id;
  const sections = parts.map(({ heading, intro = [], nights, empty, requests }, i) => {
    const cards = nights.map(({ night, own, day }) => {
      const id = nightId(night);
      drawn[id] = JSON.stringify([night, own]);
      const isNew = isRefresh && drawn[id] !== before[id];
      return nightCard(night, { href: href({ ride: night.ride }), day, own, isNew });
    });
    if (cards.length === 0) cards.push(element('p', { class: 'empty' }, empty));
    const lines = requests.map((request) => element('div', {}, element('code', {}, request)));
    const behind = element('details', { class: 'requests' }, element('summary', {}, 'The request behind this'), lines);
    behind.open = wasOpen[i] ?? false;
    return element('section', {}, intro, heading && element('h2', {}, heading), cards, lines.length > 0 && behind);
  });
  at('parts').replaceChildren(...sections);
  if (focused) document.getElementById(focused)?.querySelector('a').focus();
  const ids = Object.keys({ ...before, ...drawn });
  const changed = isRefresh ? ids.filter((id) => before[id] !== drawn[id]).length : 0;
  if (changed > 0) at('news').textContent = `${changed === 1 ? 'One night' : `${changed} nights`} changed just now.`;
}

// --- Asking ---

let [latest, timer] = [0, undefined];

function show() {
  state = stateOf(location.search);
  drawFrame();
  at('news').textContent = '';
  return load(false);
}

async function load(isRefresh) {
  latest += 1;
  const own = latest;
  clearTimeout(timer);
  let again = refreshMs;
  try {
    const parts = await views[state.view]();
    // The visitor went on meanwhile.
    if (own !== latest) return;
    drawFrame();
    at('notice').replaceChildren();
    drawParts(parts, isRefresh);
  } catch (error) {
    if (own !== latest) return;
    if (!isRefresh) at('parts').replaceChildren();
    again = explain(error) * 1000;
  }
  document.title = `${at('heading').textContent} · Ride Calendar`;
  if (again > 0) timer = setTimeout(() => document.hidden || load(true), again);
}

/** Says what went wrong. Returns the seconds after which to ask again; 0: when the visitor does something. */
function explain(error) {
  const { status, retryAfter, message } = error;
  if (!(error instanceof ApiError)) console.error(error);
  const isRiders = state.view === 'mine' || signIn?.isSignedIn();
  if (status === 401) signIn?.forget();
  drawFrame();
  if (status === 401) tell(isRiders ? 'You are not signed in any more.' : message, isRiders ? '' : keyForm());
  else tell(retryAfter ? `${message} Asking again in ${retryAfter} seconds.` : message);
  return retryAfter ?? 0;
}

const tell = (words, more = '') => at('notice').replaceChildren(element('div', {}, words, more));

/** Beside a real log the page knows no key. This tab keeps the visitor's. */
function keyForm() {
  const input = element('input', { type: 'password', 'aria-label': 'Developer key', autocomplete: 'off' });
  const form = element('form', { class: 'row' }, input, element('button', {}, 'Use this developer key'));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    sessionStorage.setItem('key', input.value.trim());
    show();
  });
  return form;
}

at('metro').append(...config.metros.map(({ slug, name }) => element('option', { value: slug }, name)));
at('metro').addEventListener('change', ({ target }) => {
  choices.where = {};
  for (const label of at('where').querySelectorAll('label')) label.remove();
  go(href({ metro: config.metros.find(({ slug }) => slug === target.value), where: [] }));
});
at('filters').addEventListener('submit', (event) => {
  event.preventDefault();
  go(href({ q: at('q').value }));
});
at('filters').addEventListener('change', ({ target: { name } }) => {
  const chosen = at('filters').querySelectorAll(`[name=${name}]:checked`);
  go(href({ [name]: [...chosen].map(({ value }) => value) }));
});
at('account').addEventListener('click', () => {
  const leaving = signIn.isSignedIn() ? signIn.signOut() : signIn.start(location.search);
  leaving.catch((error) => tell(error.message));
});
// A link within the page loads nothing anew; with a modifier key it stays a link.
document.addEventListener('click', (event) => {
  const link = event.target.closest('a[href^="?"]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(link.getAttribute('href'));
  if (link.closest('article')) at('heading').focus();
});
window.addEventListener('popstate', show);
document.addEventListener('visibilitychange', () => document.hidden || load(true));

const back = signIn && (await signIn.finish().catch(({ message }) => ({ back: '', problem: message })));
if (back) history.replaceState(null, '', home.pathname + back.back);
await show();
if (back?.problem) tell(back.problem);
