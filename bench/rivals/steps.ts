/** The rungs of `ladder.ts`, each with all below it. */
export const steps = [
  'bare uWS',
  'path read',
  'user agent read',
  'referer read',
  'prefetch and framing headers read',
  'peer address read',
  'answer in one piece from memory',
  'abort handler',
  'answers at the end of the cycle',
  'record encoded',
  'journal written',
] as const;
