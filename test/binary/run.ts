/**
 * `npm run check:binary -- [--file PATH | --sources] [--short] [--reproducible] [--only PART]`: the same tests against
 * the one file that `npm run build` makes, a line a check. Exits with 1 when one fails, with 2 where there is no file.
 *
 *   acceptance   what people, phones and receivers get, in an empty folder and in a root folder of its own
 *   boot         what the file does before its program runs
 *   runs         test/flows and a crash run with it
 *   builds       with --reproducible: two builds, which must be equal
 *
 * `--short` is the part of `acceptance` that fits beside a build; `--sources` is its yardstick.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { boot, BootPlace } from './boot-checks.ts';
import { type Check, type Tally, tryAll } from './checks.ts';
import { alone, commands } from './command-checks.ts';
import { openFolder, openRoot, type Place, type Program } from './place.ts';
import { codes, running } from './service-checks.ts';
import { type Kind, Walk } from './walk.ts';
import { builds, wholeRuns } from './whole-runs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const target = `linux-${process.arch}`;
const { values } = parseArgs({
  options: {
    file: { type: 'string', default: join(root, `dist/${target}/quietzone`) },
    sources: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    reproducible: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
});
const kind: Kind = values.sources ? 'sources' : 'file';
const file = resolve(values.file);
if (kind === 'file' && !existsSync(file)) {
  console.error(`Cannot try ${file}: it is not there, expected what \`npm run build\` makes`);
  process.exit(2);
}
const program: Program =
  kind === 'file' ? [file] : [join(root, 'node_modules/.bin/node'), join(root, 'config/start.mjs')];

/** One walk from the first start to a restored backup: each check continues with the results of the earlier ones. */
const acceptance: ReadonlyArray<Check<Walk>> = [...alone, ...running, ...codes, ...commands];
const startedMs = performance.now();
const tallies: Tally[] = [];
const isWhole = kind === 'file' && !values.short;
const parts: Readonly<Record<string, () => Promise<void>>> = {
  acceptance: tryAcceptance,
  ...(isWhole ? { boot: tryBoot, runs: () => tryList('whole runs', wholeRuns, program) } : {}),
  ...(values.reproducible ? { builds: () => tryList('builds', builds, target) } : {}),
};
if (values.only !== undefined && !(values.only in parts)) {
  console.error(
    `Cannot try ${values.only} alone: expected one of ${Object.keys(parts).join(', ')}`,
  );
  process.exit(2);
}
for (const [name, work] of Object.entries(parts)) {
  if (values.only === undefined || values.only === name) await work();
}
const sum = (count: (tally: Tally) => number): number =>
  tallies.reduce((all, tally) => all + count(tally), 0);
const failed = tallies.flatMap((tally) => tally.failed);
const seconds = Math.round((performance.now() - startedMs) / 1_000);
console.log(
  `\n${sum(({ tried }) => tried)} checks in ${seconds} s, ${sum(({ leftOut }) => leftOut)} left out, ` +
    (failed.length === 0 ? 'all well' : `${failed.length} FAILED: ${failed.join('; ')}`),
);
process.exitCode = failed.length === 0 ? 0 : 1;

async function tryAcceptance(): Promise<void> {
  await tryAt(openFolder(program));
  if (kind === 'sources') return;
  const place = rootOf(file);
  if (typeof place === 'string') console.log(`\na root folder of its own: left out: ${place}`);
  else await tryAt(place);
}

/** @returns why this user cannot have one */
function rootOf(path: string): Place | string {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'it takes root on Linux';
  try {
    return openRoot(path, 'whole');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function tryList<Subject>(
  heading: string,
  checks: ReadonlyArray<Check<Subject>>,
  subject: Subject,
): Promise<void> {
  tallies.push(await tryAll(heading, checks, subject));
}

async function tryBoot(): Promise<void> {
  const place = new BootPlace(file);
  try {
    await tryList('the laying out of its own files', boot, place);
  } finally {
    place.close();
  }
}

async function tryAt(place: Place): Promise<void> {
  const walk = await Walk.open(kind, place);
  const heading = `${kind === 'file' ? file : 'the sources'} in ${place.name}`;
  const checks = acceptance.filter(({ isShort }) => !values.short || isShort);
  try {
    await tryList(heading, checks, walk);
  } finally {
    await walk.close();
  }
}
