import { tagOf } from '../../../schemas/views/view-keys.ts';

/** For worlds in few tags: the first names, counted up, of which all that is made of them is in those tags. */
export const namesInTags =
  (tags: readonly number[]) =>
  (prefix: string, count: number, ids: (name: string) => string[] = (name) => [name]): string[] => {
    const found: string[] = [];
    for (let i = 0; found.length < count; i++) {
      if (ids(`${prefix}${i}`).every((id) => tags.includes(tagOf(id)))) found.push(`${prefix}${i}`);
    }
    return found;
  };
