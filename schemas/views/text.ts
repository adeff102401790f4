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

/**
 * Texts one after the other as one text that `<` compares as `compareText` compares the first, then the second, and so on. It
 * costs as much as some comparisons, so it is for texts that are compared often.
 */
export const orderText = (...texts: readonly string[]): string =>
  texts.map((text) => text.replace(/[\0\x01\ud800-\uffff]/g, orderOfUnit)).join('\0');

// 0 parts the texts, so it and 1 become two units. Surrogates are moved above the rest of the first plane.
function orderOfUnit(unit: string): string {
  const x = unit.charCodeAt(0);
  return x < 2 ? `\x01${unit}` : String.fromCharCode(x >= 0xe000 ? x - 0x800 : x + 0x2000);
}

// Letters that Unicode does not take apart, but that people type as others.
const typedAs = new Map(
  Object.entries({ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ħ: 'h', ı: 'i', ς: 'σ' }),
);

/** The folded text, e.g. `cafe` for `Café`, for search and for the order of riders (docs/rules.md#folded-text). */
export function foldText(text: string): string {
  // Most titles are plain ASCII, which has nothing to fold but case and apostrophes.
  if (!/[^\0-\x7f]/.test(text)) return text.replaceAll("'", '').toLowerCase();
  return (
    text
      .normalize('NFKD')
      .replace(/[\p{M}\p{Cf}'\u2018\u2019\u02bc]/gu, '')
      .toLowerCase()
      // A lower-case letter may come apart where its upper case did not.
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      .replace(/[ßæœøłđðþħıς]/g, (letter) => typedAs.get(letter)!)
  );
}

/** The words of a search, e.g. `taco` and `bobs` for `Taco: Bob’s`. All but letters and numbers divides them (docs/rules.md#q). */
export function searchWords(q: string): string[] {
  return foldText(q)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

/** Whether every word is in the folded title or the folded place name. `searchText` has the two, on separate lines. */
export function matchesWords(searchText: string, words: readonly string[]): boolean {
  return words.every((word) => searchText.includes(word));
}
