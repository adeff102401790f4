/** What a terminal obeys instead of showing it: control characters, breaks of lines, and marks that turn text around. */
const obeyed = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

const escaped = (character: string): string => {
  const short = JSON.stringify(character).slice(1, -1);
  return short === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : short;
};

/**
 * A text that others chose (docs/rules.md#text-of-others: a title, a file's name, a reason), as a part of a line: as it is, or, if a terminal would
 * obey a part of it, in quotes with JSON's escapes. Git shows names in this way.
 * Example: `A\nB` is shown as `"A\nB"`, in one line.
 */
export function foreignText(text: string): string {
  return /["\\]/.test(text) || text.search(obeyed) >= 0 ? inOneLine(JSON.stringify(text)) : text;
}

/** The same text in one line that a terminal only shows, whatever is in it. JSON stays JSON, of the same values. */
export const inOneLine = (text: string): string => text.replace(obeyed, escaped);

/** The same for a text of several lines. */
export const inLines = (text: string): string => text.split('\n').map(inOneLine).join('\n');
