/**
 * Five kinds of test files, by their names. `npm test` runs the first two:
 *
 *   fast     no process, no browser, no real wait: `npm run test:fast`, a developer's loop
 *   whole    the service or threads of it, a browser, other processes, decoders of images, walks over whole disks
 *   cluster  real brokers and real nodes: `npm run test:cluster`
 *   bench    the bench still runs: `npm run test:bench`
 *   nightly  loads and long runs: `npm run test:nightly`
 */
export type TestKind = 'fast' | 'whole' | 'cluster' | 'bench' | 'nightly';

const names: Readonly<Record<Exclude<TestKind, 'fast'>, RegExp>> = {
  nightly: /\.nightly\.test\.ts$/,
  bench: /\.bench\.test\.ts$/,
  cluster: /\.cluster\.test\.ts$/,
  whole: /\.whole\.test\.ts$|^test\/(flows|browser)\//,
};

/** The first that fits. @param path from the project's root */
export const kindOf = (path: string): TestKind =>
  (['nightly', 'bench', 'cluster', 'whole'] as const).find((kind) => names[kind].test(path)) ??
  'fast';

/** What a run takes: `mode` is vitest's `--mode`, `npm test` gives none. */
export function kindsOf(mode: string): readonly TestKind[] {
  const alone = (['fast', 'cluster', 'bench', 'nightly'] as const).find((kind) => kind === mode);
  return alone === undefined ? ['fast', 'whole'] : [alone];
}
