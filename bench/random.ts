/** xorshift32: the same numbers in every run, so that two runs measure the same. @returns makes the next one, a u32 */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
