// entity-tag of RFC 9110 §8.8.3, and a list of them as §5.6.1 has it, empty items included.
const tag = '(?:W/)?"[\\x21\\x23-\\x7e\\x80-\\xff]*"';
const list = new RegExp(`^[ \\t,]*${tag}(?:[ \\t]*,(?:[ \\t]*${tag})?)*[ \\t]*$`);
const tags = /"[\x21\x23-\x7e\x80-\xff]*"/g;

/**
 * Whether an If-None-Match header matches a strong ETag (with its quotes), compared weakly (RFC 9110 §13.1.2). A
 * malformed header is ignored (docs/rules.md#if-none-match).
 */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header === etag || header.trim() === '*') return true;
  return header.includes(etag) && list.test(header) && (header.match(tags) as string[] | null)?.includes(etag) === true;
}
