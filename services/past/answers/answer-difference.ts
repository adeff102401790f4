import { foreignText } from '../../../projector/running/foreign-text.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** One difference between two answers. `before` or `after` is undefined if that answer does not have the thing. */
export interface Difference {
  /** Such as `nights pp15r4935/2015-06-13 status`. */
  path: string;
  before: Json | undefined;
  after: Json | undefined;
}

/** How two answers, as JSON, differ. An empty text is an empty answer. Nights and riders are matched by their ids. */
export const differencesOf = (before: string, after: string): Difference[] => [
  ...differing(parse(before), parse(after), ''),
];

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

/** An object's members by name, or a list's elements by their ids. Null for anything else. */
function membersOf(value: Json | undefined): Map<string, Json> | null {
  if (value === undefined || value === null || typeof value !== 'object') return null;
  if (!Array.isArray(value)) return new Map(Object.entries(value));
  const ids = value.map(idOf);
  if (ids.includes(null) || new Set(ids).size < ids.length) return null;
  return new Map(value.map((element, i) => [ids[i]!, element]));
}

/** The id of a list's element: ride and day for a night, the handle for a rider. */
function idOf(element: Json): string | null {
  if (element === null || typeof element !== 'object' || Array.isArray(element)) return null;
  const { ride, day, handle, night } = element;
  if (night !== undefined) return idOf(night);
  if (typeof ride === 'string') return typeof day === 'string' ? `${ride}/${day}` : ride;
  return typeof handle === 'string' ? handle : null;
}

export function differenceText({ path, before, after }: Difference): string {
  const shown = foreignText(path);
  if (before === undefined) return `+ ${shown}${summary(after)}`;
  if (after === undefined) return `- ${shown}${summary(before)}`;
  return `${shown}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`;
}

/** A night that came or went is shown by its title, status and count. Anything else is shown as it is. */
function summary(value: Json | undefined): string {
  if (value === undefined || value === null || typeof value !== 'object') return `: ${JSON.stringify(value)}`;
  if (Array.isArray(value)) return value.length === 0 ? ': []' : ` (${value.length})`;
  const { title, status, going_count } = (value.night ?? value) as Record<string, Json>;
  const parts = [title, status].filter((part) => typeof part === 'string').map(foreignText);
  if (typeof going_count === 'number') parts.push(`${going_count} going`);
  return parts.length > 0 ? `: ${parts.join(', ')}` : `: ${JSON.stringify(value)}`;
}
