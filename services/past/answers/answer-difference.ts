type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** One thing that two answers differ in. `before` or `after` is undefined where it was not there. */
export interface Difference {
  /** Such as `nights pp15r4935/2015-06-13 status`. */
  path: string;
  before: Json | undefined;
  after: Json | undefined;
}

/** What two answers differ in, by their JSON texts; an empty text holds nothing. Nights and riders are told apart by their ids. */
export function differencesOf(before: string, after: string): Difference[] {
  return [...differing(parse(before), parse(after), '')];
}

const parse = (text: string): Json | undefined => (text === '' ? undefined : (JSON.parse(text) as Json));

function* differing(before: Json | undefined, after: Json | undefined, path: string): Generator<Difference> {
  const [a, b] = [membersOf(before), membersOf(after)];
  const root = path === '';
  if (a && b) yield* differingMembers(a, b, path);
  else if (root && b) yield* differingMembers(new Map(), b, path);
  else if (root && a) yield* differingMembers(a, new Map(), path);
  else if (JSON.stringify(before) !== JSON.stringify(after)) yield { path, before, after };
}

function* differingMembers(a: Map<string, Json>, b: Map<string, Json>, path: string): Generator<Difference> {
  for (const name of new Set([...a.keys(), ...b.keys()])) {
    yield* differing(a.get(name), b.get(name), path === '' ? name : `${path} ${name}`);
  }
}

/** Members by name, elements of a list by their ids; null where it has neither, as a text or a list without ids. */
function membersOf(value: Json | undefined): Map<string, Json> | null {
  if (value === undefined || value === null || typeof value !== 'object') return null;
  if (!Array.isArray(value)) return new Map(Object.entries(value));
  const ids = value.map(idOf);
  if (ids.includes(null) || new Set(ids).size < ids.length) return null;
  return new Map(value.map((element, i) => [ids[i]!, element]));
}

/** What an element of a list is about: a night by ride and day, a rider by their id or handle. */
function idOf(element: Json): string | null {
  if (element === null || typeof element !== 'object' || Array.isArray(element)) return null;
  const { ride, day, rider, handle, night } = element;
  if (night !== undefined) return idOf(night);
  if (typeof ride === 'string') return typeof day === 'string' ? `${ride}/${day}` : ride;
  if (typeof rider === 'string') return rider;
  return typeof handle === 'string' ? handle : null;
}

/** A difference in one line. */
export function differenceText({ path, before, after }: Difference): string {
  if (before === undefined) return `+ ${path}${summary(after)}`;
  if (after === undefined) return `- ${path}${summary(before)}`;
  return `${path}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`;
}

/** A night that came or went by its title, status and count; anything else as it is. */
function summary(value: Json | undefined): string {
  if (value === undefined || value === null || typeof value !== 'object') return `: ${JSON.stringify(value)}`;
  if (Array.isArray(value)) return value.length === 0 ? ': []' : ` (${value.length})`;
  const { title, status, going_count } = (value.night ?? value) as Record<string, Json>;
  const parts = [title, status].filter((part) => typeof part === 'string');
  if (typeof going_count === 'number') parts.push(`${going_count} going`);
  return parts.length > 0 ? `: ${parts.join(', ')}` : `: ${JSON.stringify(value)}`;
}
