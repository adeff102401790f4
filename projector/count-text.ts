/** `1 metro`, `2 metros`. */
export const countText = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;
