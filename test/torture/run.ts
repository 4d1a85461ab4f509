/**
 * Breaks the real service under load and compares what it answered with what it stored. Three runs, each with a ledger of
 * every scan and write: what was answered is there, once, as it was answered.
 *
 *   npm run crash          -- [--rounds 20] [--durability process|power] [--load-ms 6000] [--rate 3000]
 *   npm run takeover       -- [--takeovers 20] [--kills 60] [--cases all|none] [--rate 2000]
 *   npm run crash:cluster  -- [--seconds 60] [--kills all|none|kill-active,pause-broker…] [--equal-within 5]
 *
 *   crash           one machine, killed and started again (crash/rounds.ts)
 *   takeover        a new process takes over: in a row (takeover/takeovers.ts), with kills at each step and in between,
 *                   with processes that hang or are stopped (takeover/faults.ts); a service of its own for each of the three
 *   crash:cluster   three cores and an edge on real brokers (cluster/crash.ts); says so where there is no nats-server
 *
 * Each takes `--seed`, prints a line for what it does, its figures and its faults, and exits with 1 if there are any.
 */
import { existsSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { findNatsServer } from '../../config/demo/nats-server.ts';
import { makeGeoTable } from '../../config/release/geo-files.ts';
import { freePorts, withDataFolder } from '../support/process.ts';
import { runCluster } from './cluster/crash.ts';
import { faultKinds } from './cluster/faults.ts';
import { runCrashes } from './crash/rounds.ts';
import type { Report } from './report.ts';
import type { SiteOptions } from './site.ts';
import { runCases, runKills } from './takeover/faults.ts';
import { runTakeovers } from './takeover/takeovers.ts';

interface Run {
  /** Options with their defaults. */
  readonly numbers: Readonly<Record<string, number>>;
  /** Options with their words: the first one is the default. */
  readonly words: Readonly<Record<string, readonly string[]>>;
  readonly start: (number: (name: string) => number, words: string[]) => Promise<void>;
}

let faultCount = 0;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

function show({ ledger, rows }: Report): void {
  for (const [name, value] of rows) say(`${name.padEnd(26)} ${value}`);
  for (const fault of ledger.faults) say(`FAULT: ${fault}`);
  faultCount += ledger.faultCount;
}

/** Runs on a data folder and ports of its own. */
async function showOnSite(seed: number, run: (site: SiteOptions) => Promise<Report>) {
  const ports = await freePorts();
  await withDataFolder(async (dataDir) => show(await run({ dataDir, ports, seed, onLine: say })));
}

const runs: Readonly<Record<string, Run>> = {
  crash: {
    numbers: { rounds: 20, 'load-ms': 6_000, rate: 3_000 },
    words: { durability: ['process', 'power'] },
    start: async (number, [durability]) => {
      // A service does not make it.
      makeGeoTable(() => undefined);
      await showOnSite(number('seed'), (site) =>
        runCrashes({
          ...site,
          rounds: number('rounds'),
          durability: durability === 'power' ? 'power' : 'process',
          loadMsMax: number('load-ms'),
          perSecond: number('rate'),
          isTimed: true,
        }),
      );
    },
  },
  takeover: {
    numbers: { takeovers: 20, kills: 60, rate: 2_000 },
    words: { cases: ['all', 'none'] },
    start: async (number, [cases]) => {
      const [takeovers, kills, rate] = [number('takeovers'), number('kills'), number('rate')];
      // Whether the kernel gives connections that a closing listener has not accepted to another one.
      const file = '/proc/sys/net/ipv4/tcp_migrate_req';
      const migrates = existsSync(file) ? readFileSync(file, 'utf8').trim() : 'unknown';
      say(`net.ipv4.tcp_migrate_req = ${migrates}, load ${loadavg()[0]?.toFixed(1)}`);
      makeGeoTable(() => undefined);
      const load = { perSecond: rate, isMostlyIdle: true, steadyMs: 3_000, isTimed: true };
      // Kills and cases are about what is counted, not about times.
      const light = { perSecond: Math.min(rate, 500), isMostlyIdle: false };
      const onSite = showOnSite.bind(undefined, number('seed'));
      if (takeovers > 0) await onSite((site) => runTakeovers({ ...site, ...load, takeovers }));
      if (kills > 0) await onSite((site) => runKills({ ...site, ...light }, kills));
      if (cases === 'all') await onSite((site) => runCases({ ...site, ...light }));
    },
  },
  cluster: {
    numbers: { seconds: 60, 'equal-within': 5 },
    words: { kills: ['all', 'none', ...faultKinds] },
    start: async (number, named) => {
      const server = await findNatsServer();
      if ('missing' in server) return say(`crash:cluster: not run: ${server.missing}`);
      say(`nats-server ${server.version}`);
      const kinds = faultKinds.filter((kind) => named.includes('all') || named.includes(kind));
      const [seconds, seed] = [number('seconds'), number('seed')];
      const equalMsMax = 1_000 * number('equal-within');
      show(await runCluster({ server, seconds, seed, kinds, equalMsMax, onLine: say }));
    },
  },
};

/** @throws when a value is no number or none of its words */
function read(run: Run, args: string[]): Readonly<Record<string, string>> {
  const defaults: Record<string, string | number> = {
    ...run.numbers,
    ...Object.fromEntries(Object.entries(run.words).map(([key, [first = '']]) => [key, first])),
    seed: Date.now() % 1_000_000,
  };
  const options = Object.fromEntries(
    Object.keys(defaults).map((key) => [key, { type: 'string' } as const]),
  );
  const given = { ...defaults, ...parseArgs({ args, options }).values };
  const values = Object.entries(given).map(([key, value]) => [key, String(value)] as const);
  for (const [key, value] of values) {
    const expected = run.words[key]?.join('|');
    const fit = expected === undefined ? /^\d+$/ : new RegExp(`^(,?(${expected})\\b)+$`);
    if (fit.test(value)) continue;
    throw new Error(`Cannot run: --${key} is ${value}, expected ${expected ?? 'N'}`);
  }
  say(values.map(([key, value]) => `--${key} ${value}`).join(' '));
  return Object.fromEntries(values);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1));
}
const [name = '', ...args] = process.argv.slice(2);
const run = runs[name];
if (run === undefined) throw new Error(`Cannot run ${name}, expected ${Object.keys(runs).join()}`);
const values = read(run, args);
const words = Object.keys(run.words).flatMap((key) => values[key]!.split(','));
await run.start((key) => Number(values[key]), words);
say(faultCount === 0 ? 'passed' : `FAILED: ${faultCount} faults, seed ${values['seed']}`);
process.exit(faultCount === 0 ? 0 : 1);
