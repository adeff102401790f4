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

const isMark = (character: string): boolean => /^\p{M}$/u.test(character);
const isLeftOut = (character: string): boolean =>
  isMark(character) || /^\p{Cf}$/u.test(character) || ["'", '‘', '’', 'ʼ'].includes(character);

/** Letters without parts, and what each is written as. */
const letters = 'ß=ss æ=ae œ=oe ø=o ł=l đ=d ð=d þ=th ħ=h ı=i ς=σ'
  .split(' ')
  .map((pair) => pair.split('=') as [string, string]);

/**
 * The folded text: NFKD; without marks, format characters and apostrophes; lower case; NFKD and without marks again; then
 * letters that have no parts, by the list.
 */
export function fold(text: string): string {
  const plain = Array.from(text.normalize('NFKD')).filter((character) => !isLeftOut(character));
  const lower = Array.from(plain.join('').toLowerCase().normalize('NFKD')).filter((character) => !isMark(character));
  return letters.reduce((folded, [letter, written]) => folded.split(letter).join(written), lower.join(''));
}

/** The words of a search text, folded; none for a text of spaces and signs. */
export function searchWords(q: string): string[] {
  return fold(q).match(/[\p{L}\p{N}]+/gu) ?? [];
}
