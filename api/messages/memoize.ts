// Per generation. At most twice as many results are kept.
const defaultEntriesMax = 4_096;
const textLengthMax = 512;

/** Memoizes a pure function of short strings, in two generations: results in use survive a flood of made-up ones. */
export function memoize<T>(make: (text: string) => T, entriesMax = defaultEntriesMax): (text: string) => T {
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
