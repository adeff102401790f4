import { hash } from 'node:crypto';

/**
 * The frame that every value of a view has: `<digest><header JSON>\n<facets JSON>\n<body>`. The digest covers everything
 * after it. view-kinds.ts says what each kind of view has in it.
 */

/** The length of the digest at the start of every value: characters of base64url, ASCII. */
export const digestLength = 16;

/** The first 96 bits of SHA-256, as 16 characters of base64url. */
export function digestOf(content: Buffer | string): string {
  return hash('sha256', content, 'base64url').slice(0, digestLength);
}

/** E.g. `<digest>{"zone":"Europe/Berlin"}\n\n` for `{ zone: 'Europe/Berlin' }`, no facets and an empty body. */
export function encodeView(header: object, body: Buffer = Buffer.alloc(0), facets = ''): Buffer {
  const head = `${JSON.stringify(header)}\n${facets}\n`;
  const headBytes = Buffer.byteLength(head);
  const value = Buffer.allocUnsafe(digestLength + headBytes + body.length);
  value.write(head, digestLength);
  body.copy(value, digestLength + headBytes);
  value.write(digestOf(value.subarray(digestLength)), 0, 'latin1');
  return value;
}

export interface StoredParts<Header, Facets = never> {
  digest: string;
  header: Header;
  /** Parsed only if a filter needs them. */
  facets(): Facets[];
  body: Buffer;
}

/** The caller says what `Header` and `Facets` are: a value does not name its kind. */
export function decodeView<Header, Facets = never>(value: Buffer): StoredParts<Header, Facets> {
  const headEnd = value.indexOf(10, digestLength);
  const facetsEnd = value.indexOf(10, headEnd + 1);
  return {
    digest: value.toString('latin1', 0, digestLength),
    header: JSON.parse(value.toString('utf8', digestLength, headEnd)) as Header,
    facets: () => JSON.parse(value.toString('utf8', headEnd + 1, facetsEnd)) as Facets[],
    body: value.subarray(facetsEnd + 1),
  };
}
