/**
 * Compares two texts by Unicode code point (docs/rules.md#comparing-text). JavaScript's `<` compares UTF-16 units,
 * which puts 🚲 (a surrogate pair) before ～ (U+FF5E).
 */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    let x = a.charCodeAt(i);
    let y = b.charCodeAt(i);
    if (x === y) continue;
    // Moves surrogates above the rest of the first plane. Then units are in the order of code points.
    if (x >= 0xd800 && y >= 0xd800) {
      x = x >= 0xe000 ? x - 0x800 : x + 0x2000;
      y = y >= 0xe000 ? y - 0x800 : y + 0x2000;
    }
    return x - y;
  }
  return a.length - b.length;
}

/** The folded text, e.g. `cafe` for `Café`, for search and for the order of riders (docs/rules.md#folded-text). */
export function foldText(text: string): string {
  // Most titles are plain ASCII, which has nothing to fold but case.
  if (!/[^\0-\x7f]/.test(text)) return text.toLowerCase();
  return text.normalize('NFKD').replace(/\p{M}/gu, '').replaceAll('’', "'").toLowerCase().replaceAll('ς', 'σ');
}

/** A search's words, e.g. `taco` and `bob's` for `Taco: Bob’s`. All but letters, numbers and `'` divides them (docs/rules.md#q). */
export function searchWords(q: string): string[] {
  return foldText(q)
    .split(/[^\p{L}\p{N}']+/u)
    .filter((word) => word !== '');
}

/** Whether every word is in the folded title or the folded place name. `searchText` has the two, on separate lines. */
export function matchesWords(searchText: string, words: readonly string[]): boolean {
  return words.every((word) => searchText.includes(word));
}
