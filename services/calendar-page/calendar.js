// The calendar page. The address bar holds all of its state, so links can be shared and Back works. It asks again every ten
// seconds, which costs a 304 where nothing changed.
import { ApiError, createApi } from './api.js';
import { addDays, dayInWords, isDay, localDate } from './dates.js';
import { element, inTime, nightCard } from './nights.js';
import { createSignIn } from './sign-in.js';

const refreshMs = 10_000;
const choices = {
  far: { under_5: 'Under 5', '5_to_10': '5 to 10', '10_to_20': '10 to 20', '20_to_40': '20 to 40', over_40: 'Over 40' },
  who: { General: 'Everybody', 'Family Friendly': 'Families', '21+ Only': 'Adults of 21 and over' },
};
const lists = ['far', 'who', 'where'];

const at = (id) => document.getElementById(id);
const config = await (await fetch(new URL('config.json', import.meta.url))).json();
// The API has no list of neighbourhoods: these are added as nights show them.
for (const metro of config.metros) metro.where = {};
// Sign-in comes back to the service's one address, and to a browser localhost is another one than 127.0.0.1.
const home = new URL('/calendar', config.baseUrl);
if (location.hostname === 'localhost' && home.hostname !== 'localhost') location.replace(home + location.search);

const signIn = config.clientId && createSignIn(config.baseUrl, config.clientId, home.href);
const get = createApi(config.baseUrl, async (isRiders, refused) => {
  const key = config.key ?? sessionStorage.getItem('key');
  if (key && !isRiders) return { 'X-Api-Key': key };
  const token = signIn && (await signIn.accessToken(refused?.Authorization?.slice('Bearer '.length)));
  if (token) return { Authorization: `Bearer ${token}` };
  const nobody = isRiders ? 'Nobody can sign in here.' : 'Nobody can sign in here: please enter a developer key.';
  throw new ApiError(signIn ? 'Please sign in first.' : nobody, 401, null);
});

let state;

function stateOf(search) {
  const query = Object.fromEntries(new URLSearchParams(search));
  const filters = Object.fromEntries(lists.map((name) => [name, (query[name] || null)?.split(',') ?? []]));
  const known = config.metros.find(({ slug }) => slug === query.metro);
  const metro = known ?? config.metros[0];
  const view = query.ride ? 'ride' : (['week', 'mine'].find((name) => name === query.view) ?? 'day');
  const day = isDay(query.day ?? '') ? query.day : null;
  const wrong = [query.metro && !known && !query.ride && 'city', query.day && !day && 'day'].filter(Boolean);
  const note = wrong.length > 0 ? `The link names a ${wrong.join(' and a ')} that the calendar does not have.` : '';
  return { ...filters, q: query.q ?? '', metro, day, view, ride: query.ride, note };
}

/** The address of what is shown now, but for some changes. What is empty is left out. */
function href(changes) {
  const { metro, view, note: _, ...rest } = { ...state, ride: null, ...changes };
  const own = rest.ride ? { ride: rest.ride } : { view: ['day', 'ride'].includes(view) ? '' : view, ...rest };
  const given = Object.entries(own).filter(([, value]) => value?.length > 0);
  return `?${new URLSearchParams([['metro', metro.slug], ...given])}`;
}

function go(search) {
  // Back leads to the same place of a long week.
  history.replaceState({ top: scrollY }, '');
  history.pushState(null, '', search);
  return show();
}

/** The metro's own date. The service's clock may stand still (`now`), to show old data. */
const today = () => localDate(state.metro.zone, config.now ? new Date(config.now) : new Date());
const nightId = ({ ride, day }) => `${ride}/${day}`;
const byNight = (nights, field) => Object.fromEntries(nights.map((each) => [nightId(each.night ?? each), each[field]]));

/** What a signed-in rider sees of the nights in a range: why one is theirs, friends who are going, riders they flagged. */
async function ownBetween(from, to) {
  if (!signIn?.isSignedIn()) return { own: () => ({}), requests: [] };
  const range = { metro: state.metro.slug, from, to };
  const paths = [['/me/nights'], ['/me/friends', range], ['/me/flagged', range]];
  const answers = await Promise.all(paths.map(([path, query]) => get(path, query, true)));
  const fields = ['why', 'friends', 'riders'];
  const [why, friends, flagged] = answers.map(({ answer }, i) => byNight(answer.nights, fields[i]));
  const own = (id) => ({ why: why[id], friends: friends[id], flagged: flagged[id] });
  return { own, requests: answers.map(({ request }) => request) };
}

const inWords = ({ day }) => dayInWords(day, today());
const rides = (count) => (count === 1 ? '1 ride' : `${count || 'No'} rides`);

/** Some days from one on: a part of the page for each. */
async function days(count) {
  const first = state.day ?? today();
  const all = Array.from({ length: count }, (_, i) => addDays(first, i)).filter(isDay);
  const { q, far, who, where, metro } = state;
  const [{ own, requests }, ...answers] = await Promise.all([
    ownBetween(first, all.at(-1)),
    ...all.map((day) => get(`/metros/${metro.slug}/days/${day}`, { q, far, who, where })),
  ]);
  for (const { meeting } of answers.flatMap(({ answer }) => answer.nights))
    if (meeting.neighbourhood_slug) metro.where[meeting.neighbourhood_slug] = meeting.neighbourhood;
  return answers.map(({ answer, request }, i) => ({
    heading: count > 1 ? dayInWords(answer.day, today()) : rides(answer.nights.length),
    nights: answer.nights.map((night) => ({ night, own: own(nightId(night)) })),
    empty: at('clear').hidden ? 'No ride meets on this day.' : 'No ride fits these filters.',
    requests: i > 0 ? [request] : [request, ...requests],
  }));
}

const views = {
  day: () => days(1),
  week: () => days(7),
  async ride() {
    const { answer, request } = await get(`/rides/${encodeURIComponent(state.ride)}`);
    // A shared link may name no city, or another one.
    state.metro = config.metros.find(({ slug }) => slug === answer.metro) ?? state.metro;
    at('heading').textContent = answer.title;
    const text = (words) => words && element('p', { class: 'text', dir: 'auto' }, words);
    const intro = [text(answer.type), text(answer.description)];
    const { own, requests } = await ownBetween(today(), addDays(today(), 31));
    const dated = (night) => ({ night: { ...night, title: inWords(night) }, own: own(nightId(night)) });
    return inTime(answer.nights.map(dated), [request, ...requests], intro);
  },
  async mine() {
    const { answer, request } = await get('/me/nights', {}, true);
    const flagged = byNight(answer.flagged, 'riders');
    const own = ({ night, why }) => ({ night, day: inWords(night), own: { why, flagged: flagged[nightId(night)] } });
    return inTime(answer.nights.map(own), [request], []);
  },
};

/** What needs no answer: the frame around the nights. */
function drawFrame() {
  const { view, metro, q } = state;
  const day = state.day ?? today();
  const words = { mine: 'My nights', week: 'Seven days', day: dayInWords(day, today()) };
  if (view !== 'ride') at('heading').textContent = words[view];
  const isIn = signIn?.isSignedIn() ?? false;
  const step = view === 'week' ? 7 : 1;
  const links = {
    ...{ day: { view: 'day' }, week: { view: 'week' }, mine: { view: 'mine' } },
    ...{ before: { day: addDays(day, -step) }, today: { day: null }, after: { day: addDays(day, step) } },
    clear: { q: '', far: [], who: [], where: [] },
  };
  for (const [id, changes] of Object.entries(links)) at(id).href = href(changes);
  for (const id of ['day', 'week', 'mine']) at(id).ariaCurrent = id === view ? 'page' : null;
  at('metro').value = metro.slug;
  at('mine').hidden = !isIn;
  at('account').hidden = !signIn;
  at('account').textContent = isIn ? 'Sign out' : 'Sign in';
  at('days').hidden = at('filters').hidden = view === 'ride' || view === 'mine';
  const chosen = lists.flatMap((name) => state[name]).length;
  at('clear').hidden = chosen === 0 && q === '';
  at('chosen').textContent = chosen > 0 ? `(${chosen} chosen)` : '';
  for (const name of lists) drawChoices(name);
}

/** A box for each choice. Those that are there stay, and with them the keyboard's place. */
function drawChoices(name) {
  const words = choices[name] ?? state.metro.where;
  const boxes = new Map([...at(name).querySelectorAll('input')].map((box) => [box.value, box]));
  const values = new Set([...state[name], ...Object.keys(words)]);
  for (const [value, box] of boxes) if (!values.has(value)) box.parentElement.remove();
  for (const value of values) {
    const box = boxes.get(value) ?? element('input', { type: 'checkbox', name, value });
    box.checked = state[name].includes(value);
    if (!boxes.has(value)) at(name).append(element('label', {}, box, element('bdi', {})));
    box.nextSibling.textContent = words[value] ?? value;
  }
}

/** What is asked for, and of what the page shows the answer. */
const asked = () => [location.search, today(), signIn?.isSignedIn()].join();
let shown;

function drawParts(parts) {
  const isRefresh = shown === asked();
  shown = asked();
  const sections = parts.map(({ heading, intro = [], nights, empty, requests }, i) => {
    const cards = nights.map(({ night, own, day }) => {
      const card = nightCard(night, { href: state.view !== 'ride' && href({ ride: night.ride }), day, own });
      card.classList.toggle('new', isRefresh && at(card.id)?.textContent !== card.textContent);
      return card;
    });
    const id = `requests-${i}`;
    const lines = requests.map((request) => element('div', {}, element('code', {}, request)));
    const summary = element('summary', {}, 'The request behind this');
    const behind = element('details', { class: 'requests', id }, summary, lines);
    behind.open = at(id)?.open ?? false;
    const list = cards.length > 0 ? cards : element('p', { class: 'empty' }, empty);
    return element('section', {}, intro, heading && element('h2', {}, heading), list, requests.length > 0 && behind);
  });
  const fresh = element('div', {}, sections);
  const find = (parent, selector) => [...parent.querySelectorAll(selector)];
  const text = (parent) => find(parent, 'section > :not(.requests)').map(({ textContent }) => textContent);
  const isChanged = isRefresh && `${text(fresh)}` !== `${text(at('parts'))}`;
  // Where nothing changed, what the visitor selected or reached by keyboard stays as it is.
  if (isRefresh && !isChanged && find(at('parts'), '.new').length === 0) {
    const codes = find(fresh, 'code');
    for (const [i, code] of find(at('parts'), 'code').entries()) code.replaceWith(codes[i]);
    return;
  }
  at('news').textContent = isChanged ? 'These rides changed just now.' : '';
  const focused = document.activeElement.closest('article, .requests')?.id;
  at('parts').replaceChildren(...sections);
  at(focused)?.querySelector('a, summary').focus({ preventScroll: true });
}

let [latest, timer] = [0, undefined];

function show() {
  state = stateOf(location.search);
  drawFrame();
  at('q').value = state.q;
  return load();
}

async function load() {
  latest += 1;
  const own = latest;
  clearTimeout(timer);
  let again = refreshMs;
  const wasIn = signIn?.isSignedIn();
  at('parts').ariaBusy = shown !== asked();
  try {
    const parts = await views[state.view]();
    // The visitor went on meanwhile.
    if (own !== latest) return;
    drawFrame();
    tell(state.note);
    at('key').hidden = true;
    drawParts(parts);
  } catch (error) {
    if (own !== latest) return;
    if (wasIn && error.status === 401) {
      // What anybody may see stays, what was the rider's goes.
      signIn.forget();
      await load();
      at('news').textContent = 'You are not signed in any more.';
      return;
    }
    if (shown !== asked()) shown = at('parts').replaceChildren();
    const { status, retryAfter = 10, message } = error;
    if (!(error instanceof ApiError)) console.error(error);
    drawFrame();
    tell(retryAfter ? `${message} Asking again in ${retryAfter} seconds.` : message);
    // Beside a real log the page knows no key. This tab keeps the visitor's.
    at('key').hidden = status !== 401 || state.view === 'mine';
    again = (retryAfter ?? 0) * 1000;
  }
  at('parts').ariaBusy = null;
  // Isolated: no character in a ride's title can turn what follows.
  document.title = `\u2068${at('heading').textContent}\u2069 · Ride Calendar`;
  if (again > 0) timer = setTimeout(() => document.hidden || load(), again);
}

const tell = (words) => at('notice').replaceChildren(...(words ? [element('div', {}, words)] : []));

const typed = () => ({ q: at('q').value });

at('metro').append(...config.metros.map(({ slug, name }) => element('option', { value: slug }, name)));
at('key').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem('key', at('own-key').value.trim());
  show();
});
at('metro').addEventListener('change', ({ target }) => {
  go(href({ metro: config.metros.find(({ slug }) => slug === target.value), where: [], ...typed() }));
});
at('filters').addEventListener('submit', (event) => {
  event.preventDefault();
  go(href(typed()));
});
at('filters').addEventListener('change', ({ target: { name } }) => {
  // What is typed is searched for with the form, or with the next box.
  if (!name) return;
  const chosen = at('filters').querySelectorAll(`[name=${name}]:checked`);
  go(href({ [name]: [...chosen].map(({ value }) => value), ...typed() }));
});
at('account').addEventListener('click', () => {
  at('parts').replaceChildren();
  const leaving = signIn.isSignedIn() ? signIn.signOut() : signIn.start(location.search);
  leaving.catch((error) => tell(error.message));
});
// A link within the page loads nothing anew; with a modifier key it stays a link.
document.addEventListener('click', async (event) => {
  const link = event.target.closest('a[href^="?"]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const isCard = link.closest('article');
  await go(link.getAttribute('href'));
  if (isCard) at('heading').focus();
});
window.addEventListener('popstate', async ({ state: kept }) => {
  await show();
  scrollTo(0, kept?.top ?? 0);
});
document.addEventListener('visibilitychange', () => document.hidden || load());

const back = signIn && (await signIn.finish().catch(({ message }) => ({ back: '', problem: message })));
if (back) history.replaceState(null, '', home.pathname + back.back);
await show();
if (back?.problem) tell(back.problem);
