// What is shown of nights, as elements. Riders' texts become text nodes, never HTML.

/** `element('a', { href: '/' }, 'Home')`. Empty children are left out. */
export function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.flat().filter(Boolean));
  return made;
}

// A text in another script than the page's keeps its own direction.
const text = (name, className, ...children) => element(name, { class: className, dir: 'auto' }, ...children);
const names = (riders) => new Intl.ListFormat('en').format(riders.map(({ name, handle }) => name ?? `@${handle}`));
const whys = { led: 'You lead this ride', going: 'You are going', ridden: 'You rode it', saved: 'You saved it' };

function place({ withheld, place_name, neighbourhood }, going) {
  const name = withheld ? '🔒 Secret meeting point' : (place_name ?? 'Meeting point not given');
  return text('p', 'place', [name, neighbourhood, going].filter(Boolean).join(' · '));
}

/** `★ Ada and Bo, Cy, Di and 3 more are going`: close friends first, as the API sends them. */
function friendsGoing(friends) {
  const close = friends.filter(({ close }) => close);
  const others = friends.slice(close.length);
  const few = others.slice(0, others.length > 6 ? 5 : 6);
  const more = others.length > few.length ? ` and ${others.length - few.length} more` : '';
  const all = [close.length > 0 && `★ ${names(close)}`, few.length > 0 && names(few) + more].filter(Boolean);
  return text('p', 'own', `${all.join(' · ')} ${friends.length === 1 ? 'is' : 'are'} going`);
}

/** One night. `own`: what the signed-in rider sees of it, which is why it is theirs, friends and flagged riders. */
export function nightCard(night, { href, day, own = {}, isNew }) {
  const { title, meet_time, status, cancellation_reason: reason, past, going_count, meeting } = night;
  const name = element('a', { href, dir: 'auto' }, title || 'Ride without a title');
  const isOff = status === 'cancelled';
  return element(
    'article',
    {
      class: `${isOff ? 'cancelled' : ''} ${past ? 'past' : ''} ${isNew ? 'new' : ''}`,
      id: `${night.ride}/${night.day}`,
    },
    element('p', { class: 'time' }, meet_time ?? '–'),
    element(
      'div',
      {},
      element('h3', {}, isOff ? element('s', {}, name) : name),
      isOff && text('p', 'off', `Called off${reason ? `: ${reason}` : ''}`),
      day && element('p', {}, day),
      place(meeting, `${going_count} ${past ? 'were going' : 'going'}`),
      own.why && text('p', 'own', whys[own.why]),
      own.friends && friendsGoing(own.friends),
      own.flagged && text('p', 'flag', `⚑ You flagged ${names(own.flagged)}, who will be there`),
    ),
  );
}
