// Per generation: twice as many are remembered at most.
const entriesMax = 4_096;
const textLengthMax = 512;

/**
 * A pure function of a text, with its results remembered for the texts seen lately: two generations, so that what is
 * asked for again and again stays when made-up texts pour in. Long texts are never remembered.
 */
export function remembered<T>(make: (text: string) => T): (text: string) => T {
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
