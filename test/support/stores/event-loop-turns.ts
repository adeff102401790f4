/** How often the event loop comes round while something runs. */
export async function turnsDuring(run: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const turn = (): void => {
    turns += 1;
    immediate = setImmediate(turn);
  };
  let immediate = setImmediate(turn);
  await run();
  clearImmediate(immediate);
  return turns;
}
