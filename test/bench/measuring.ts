/** Everything this process holds: the heap, and what typed arrays hold beside it. Needs `--expose-gc`. */
export function bytesHeld(): number {
  // What the first collection frees beside the heap is counted off by the next.
  for (let i = 0; i < 3; i++) globalThis.gc!();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** xorshift32: the same numbers every time. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
