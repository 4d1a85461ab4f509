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

const optionsOf: Readonly<Record<string, readonly string[]>> = {
  crash: ['seed', 'rounds', 'rate', 'load-ms', 'durability'],
  takeover: ['seed', 'takeovers', 'kills', 'rate', 'cases'],
  cluster: ['seed', 'seconds', 'kills', 'equal-within'],
};
const [name = '', ...args] = process.argv.slice(2);
const { values } = parseArgs({
  args,
  options: Object.fromEntries((optionsOf[name] ?? []).map((one) => [one, { type: 'string' }])),
});

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

/** @throws when it is none of these words; an empty list: no number */
function option(name: string, standard: string | number, words: readonly string[] = []): string {
  const value = values[name] ?? String(standard);
  const expected = words.join('|');
  const fit = words.length === 0 ? /^\d+$/ : new RegExp(`^(,?(${expected})\\b)+$`);
  if (!fit.test(value)) {
    throw new Error(`Cannot run: --${name} is ${value}, expected ${expected || 'N'}`);
  }
  say(`--${name} ${value}`);
  return value;
}
const number = (name: string, standard: number): number => Number(option(name, standard));

const runs: Readonly<Record<string, (seed: number) => Promise<void>>> = {
  async crash(seed) {
    const durability = option('durability', 'process', ['process', 'power']);
    const crashes = {
      rounds: number('rounds', 20),
      durability: durability === 'power' ? 'power' : 'process',
      loadMsMax: number('load-ms', 6_000),
      perSecond: number('rate', 3_000),
      isTimed: true,
    } as const;
    // A service does not make it.
    makeGeoTable(() => undefined);
    await showOnSite(seed, (site) => runCrashes({ ...site, ...crashes }));
  },
  async takeover(seed) {
    const takeovers = number('takeovers', 20);
    const kills = number('kills', 60);
    const rate = number('rate', 2_000);
    const cases = option('cases', 'all', ['all', 'none']);
    // Whether the kernel gives connections that a closing listener has not accepted to another one.
    const file = '/proc/sys/net/ipv4/tcp_migrate_req';
    const migrates = existsSync(file) ? readFileSync(file, 'utf8').trim() : 'unknown';
    say(`net.ipv4.tcp_migrate_req = ${migrates}, load ${loadavg()[0]?.toFixed(1)}`);
    makeGeoTable(() => undefined);
    const load = { perSecond: rate, isMostlyIdle: true, steadyMs: 3_000, isTimed: true };
    // Kills and cases are about what is counted, not about times.
    const light = { perSecond: Math.min(rate, 500), isMostlyIdle: false };
    if (takeovers > 0) {
      await showOnSite(seed, (site) => runTakeovers({ ...site, ...load, takeovers }));
    }
    if (kills > 0) await showOnSite(seed, (site) => runKills({ ...site, ...light }, kills));
    if (cases === 'all') await showOnSite(seed, (site) => runCases({ ...site, ...light }));
  },
  async cluster(seed) {
    const named = option('kills', 'all', ['all', 'none', ...faultKinds]).split(',');
    const seconds = number('seconds', 60);
    const equalMsMax = 1_000 * number('equal-within', 5);
    const server = await findNatsServer();
    if ('missing' in server) return say(`crash:cluster: not run: ${server.missing}`);
    say(`nats-server ${server.version}`);
    const kinds = faultKinds.filter((kind) => named.includes('all') || named.includes(kind));
    show(await runCluster({ server, seconds, seed, kinds, equalMsMax, onLine: say }));
  },
};

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1));
}
const run = runs[name];
if (run === undefined) throw new Error(`Cannot run ${name}, expected ${Object.keys(runs).join()}`);
const seed = number('seed', Date.now() % 1_000_000);
await run(seed);
say(faultCount === 0 ? 'passed' : `FAILED: ${faultCount} faults, seed ${seed}`);
process.exit(faultCount === 0 ? 0 : 1);
