// What is shown of nights, as elements. Riders' texts become text nodes, never HTML.

/** `element('a', { href: '/' }, 'Home')`. Empty children are left out. */
export function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.flat(Infinity).filter(Boolean));
  return made;
}

// Each text of a rider is in an element with a direction of its own: no character in it can turn what stands beside it.
const bdi = (text) => text && element('bdi', {}, text);
const line = (className, ...children) => element('p', { class: className }, ...children);
const dotted = (...parts) => parts.filter(Boolean).flatMap((part, i) => (i > 0 ? [' · ', part] : [part]));
const called = ({ name, handle }) => name ?? `@${handle}`;
const listed = (names) =>
  new Intl.ListFormat('en').formatToParts(names).map(({ type, value }) => (type === 'element' ? bdi(value) : value));
const whys = { led: 'You lead this ride', going: 'You are going', ridden: 'You rode it', saved: 'You saved it' };

/** `★ Ada, Cy, and 3 more are going`: close friends first, with a star, as the API sends them. */
function friendsGoing(friends) {
  const few = friends.slice(0, friends.length > 6 ? 5 : 6);
  const more = friends.length > 6 ? [`${friends.length - 5} more`] : [];
  const all = listed([...few.map((friend) => (friend.close ? '★ ' : '') + called(friend)), ...more]);
  return line('own', all, friends.length === 1 ? ' is going' : ' are going');
}

/** One night. `own`: what the signed-in rider sees of it, which is why it is theirs, friends and flagged riders. */
export function nightCard(night, { href, day, own = {} }) {
  const { title, meet_time, status, cancellation_reason: reason, past, going_count, meeting } = night;
  const name = element('a', { ...(href && { href }), dir: 'auto' }, title || 'Ride without a title');
  const isOff = status === 'cancelled';
  const place = meeting.withheld ? '🔒 Secret meeting point' : bdi(meeting.place_name) || 'Meeting point not given';
  const classes = [isOff && 'cancelled', past && 'past'].filter(Boolean).join(' ');
  return element(
    'article',
    { class: classes, id: `${night.ride}/${night.day}` },
    line('time', element('b', {}, meet_time ?? '–')),
    element(
      'div',
      {},
      element('h3', {}, isOff ? element('s', {}, name) : name),
      isOff && line('off', 'Called off', reason && [': ', bdi(reason)]),
      day && element('p', {}, day),
      line('place', dotted(place, bdi(meeting.neighbourhood))),
      own.why && line('own', whys[own.why]),
      own.friends && friendsGoing(own.friends),
      own.flagged && line('flag', '⚑ You flagged ', listed(own.flagged.map(called)), ', who will be there'),
    ),
    line('going', element('b', {}, `${going_count}`), past ? ' were going' : ' going'),
  );
}

/** Nights of several days: those to come, then the past ones, latest first. */
export function inTime(nights, requests, intro) {
  const past = nights.filter(({ night }) => night.past).reverse();
  const coming = nights.filter(({ night }) => !night.past);
  const parts = [{ intro, heading: 'Coming up', nights: coming, empty: 'Nothing is coming up.', requests }];
  return past.length > 0 ? [...parts, { heading: 'Past', nights: past, requests: [] }] : parts;
}
