import type { ClientMetadata } from './client-policy.ts';

const serviceName = 'Ride Calendar';

/**
 * A name as people see it: without case, spaces, punctuation, accents and styles of letters. 0 and o are one letter,
 * and so are 1, i, l and |.
 */
function asSeen(name: string): string {
  const letters = name.normalize('NFKD').toLowerCase().replaceAll('|', 'l');
  return letters
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .replaceAll('0', 'o')
    .replaceAll(/[1iı]/g, 'l');
}

// Cyrillic а, е and о cannot be told from Latin a, e and o. Where Chinese, Japanese and Korean are written, Latin
// letters stand beside others without a space.
const mixed =
  /(?=\S*\p{Script=Latin})\S*(?![\p{Script=Latin}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Common}\p{Script=Inherited}])\p{L}/u;

/**
 * Why a client that introduced itself may not have its name, or null: it is the service's own or that of one of these
 * clients, or a word of it mixes alphabets, so that it might look like one of them.
 */
export function borrowedName(clients: readonly ClientMetadata[]): (client: ClientMetadata) => string | null {
  const taken = new Set([serviceName, ...clients.flatMap(namesOf)].map(asSeen));
  return (client) => {
    const name = client.client_name;
    if (typeof name !== 'string') return null;
    if (taken.has(asSeen(name))) return 'client_name is that of this service or of another app here';
    return mixed.test(name) ? 'client_name must not mix alphabets in a word' : null;
  };
}

/** The id stands in for a name. */
const namesOf = ({ client_id: id, client_name: name }: ClientMetadata): string[] => [String(name ?? id)];
