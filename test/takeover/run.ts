/**
 * `npm run takeover -- [--takeovers 20] [--kills 60] [--cases all|none] [--rate 2000] [--seed 7]`
 *
 * Proves that a new process takes over from a running one without losing or doubling anything: three parts, each with a
 * service, load and a ledger of every scan and write (service-under-load.ts) of its own.
 *
 *   --takeovers   in a row; nothing is killed, so each scan that was answered is counted, and no other
 *   --kills       kill -9 of either process at each step of a takeover and in between (kills.ts)
 *   --cases       processes that hang or are stopped (cases.ts)
 *
 * Prints a line for each takeover, kill and case, and after each part what was measured and its criteria (report.ts).
 * Exits with 1 when a criterion fails.
 */
import { existsSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { inspect, parseArgs } from 'node:util';
import { makeGeoTable } from '../../config/release/geo-files.ts';
import { freePorts, withDataFolder } from '../support/process.ts';
import { runCases } from './cases.ts';
import { runKills } from './kills.ts';
import { availability, correctness, type Criterion } from './report.ts';
import type { ServiceResult } from './service-under-load.ts';
import { runTakeovers } from './takeovers.ts';

const { values } = parseArgs({
  options: {
    takeovers: { type: 'string', default: '20' },
    kills: { type: 'string', default: '60' },
    cases: { type: 'string', default: 'all' },
    rate: { type: 'string', default: '2000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const takeovers = Number(values.takeovers);
const kills = Number(values.kills);
const perSecond = Number(values.rate);
const seed = Number(values.seed);
if (![takeovers, kills, perSecond, seed].every(Number.isInteger)) {
  throw new Error('Cannot run: an option is no number, expected one for all but --cases');
}
const steadyMs = 3_000;
/** Kills and cases are about what is counted, not about times. */
const lightLoad = { perSecond: Math.min(perSecond, 500), keepAlive: 'busy', seed } as const;

/** Whether the kernel gives connections that a closing listener has not accepted to another one. */
const migrateFile = '/proc/sys/net/ipv4/tcp_migrate_req';
const migrates = existsSync(migrateFile) ? readFileSync(migrateFile, 'utf8').trim() : 'unknown';
console.log(
  `${takeovers} takeovers and ${kills} kills, ${perSecond} scans/s, seed ${seed}, ` +
    `net.ipv4.tcp_migrate_req = ${migrates}, load ${loadavg()[0]?.toFixed(1)}`,
);
makeGeoTable(() => undefined);
const failed: string[] = [];

function show(result: ServiceResult, criteria: readonly Criterion[]): void {
  console.log(inspect(result, { depth: null, breakLength: 120 }));
  for (const { what, holds } of criteria) console.log(`${holds ? 'holds ' : 'FAILED'} ${what}`);
  failed.push(...criteria.filter(({ holds }) => !holds).map(({ what }) => what));
}

if (takeovers > 0) {
  const ports = await freePorts();
  const onTakeover = (number: number, ms: number): void =>
    console.log(`takeover ${number}: ${Math.round(ms)} ms`);
  const load = { ports, perSecond, seed, keepAlive: 'mostly idle' } as const;
  const options = { ...load, takeovers, steadyMs, onTakeover };
  const result = await withDataFolder((dataDir) => runTakeovers({ ...options, dataDir }));
  show(result, [...correctness(result), ...availability(result)]);
}

if (kills > 0) {
  const ports = await freePorts();
  const options = { ...lightLoad, ports, kills } as const;
  const result = await withDataFolder((dataDir) => runKills({ ...options, dataDir }));
  show(result, correctness(result));
}

if (values.cases !== 'none') {
  const ports = await freePorts();
  const result = await withDataFolder((dataDir) => runCases({ ...lightLoad, ports, dataDir }));
  show(result, correctness(result));
}

console.log(failed.length === 0 ? 'passed' : `FAILED, reproduce with --seed ${seed}`);
process.exitCode = failed.length === 0 ? 0 : 1;
