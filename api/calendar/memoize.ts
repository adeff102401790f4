// Per generation: at most twice as many are kept.
const entriesMax = 4_096;
const textLengthMax = 512;

/**
 * Memoizes a pure function of a text, for the texts seen lately. There are two generations of results, so that those
 * used again and again stay when made-up texts pour in. Results for long texts are never kept.
 */
export function memoize<T>(make: (text: string) => T): (text: string) => T {
  let young = new Map<string, T>();
  let old = new Map<string, T>();
  return (text) => {
    let made = young.get(text);
    if (made !== undefined) return made;
    made = old.get(text) ?? make(text);
    if (text.length <= textLengthMax) {
      if (young.size >= entriesMax) {
        old = young;
        young = new Map();
      }
      young.set(text, made);
    }
    return made;
  };
}
