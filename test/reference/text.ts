/** How texts are compared and folded (docs/rules.md#comparing-text, #folded-text). */

/** Below, equal to or above zero, by Unicode code point: JavaScript's own `<` compares UTF-16 units. */
export function compareText(a: string, b: string): number {
  const left = Array.from(a, (character) => character.codePointAt(0) as number);
  const right = Array.from(b, (character) => character.codePointAt(0) as number);
  for (let i = 0; i < left.length && i < right.length; i++) {
    if (left[i] !== right[i]) return left[i]! - right[i]!;
  }
  return left.length - right.length;
}

/** The folded text: NFKD, marks removed, `’` to `'`, lower case, `ς` to `σ`, in that order. */
export function fold(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').replaceAll('’', "'").toLowerCase().replaceAll('ς', 'σ');
}

/** The words of a search text, folded; none for a text of spaces and signs. */
export function searchWords(q: string): string[] {
  return fold(q)
    .split(/[^\p{L}\p{N}']+/u)
    .filter((word) => word !== '');
}
