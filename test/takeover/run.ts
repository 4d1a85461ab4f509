/**
 * `npm run takeover -- [--takeovers 20] [--kills 60] [--cases all] [--rate 2000] [--codes 200] [--seed 7]`
 *
 * Takeovers in a row under load; kills at the moments of as many more; then what else may go wrong (cases.ts). Prints a
 * line for each, a table after each part, and exits with 1 when something was lost, counted twice or unexpected, or took
 * longer than it may. `--cases none`, or some by name, with commas between them. With `--way restart` the processes
 * follow one another instead: what a takeover spares.
 */
import { existsSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { makeGeoFiles } from '../../config/release/geo-files.ts';
import { freePorts, withDataFolder } from '../support/process.ts';
import { type CasesOptions, runCases } from './cases.ts';
import { type Criterion, figuresOf, killRows, type Row, soundness, speed } from './figures.ts';
import { type KillsOptions, runKills } from './kills.ts';
import type { StageResult } from './stage.ts';
import { runTakeovers, type TakeoversOptions } from './takeovers.ts';

const { values } = parseArgs({
  options: {
    takeovers: { type: 'string', default: '20' },
    kills: { type: 'string', default: '60' },
    cases: { type: 'string', default: 'all' },
    rate: { type: 'string', default: '2000' },
    codes: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    'steady-ms': { type: 'string', default: '3000' },
    way: { type: 'string', default: 'takeover' },
  },
});
const takeovers = Number(values.takeovers);
const kills = Number(values.kills);
const perSecond = Number(values.rate);
const codes = Number(values.codes);
const seed = Number(values.seed);
const way = values.way === 'restart' ? 'restart' : 'takeover';
/** Of kills and cases: they are about what is counted, not about times. */
const lightPerSecond = Math.min(perSecond, 500);
/** No predecessor waits for connections that are idle while kills and cases wait for it. */
const kept = 'busy';

/** Whether the kernel gives what a listener has not accepted to another one when it closes. */
const migrateFile = '/proc/sys/net/ipv4/tcp_migrate_req';
const migrates = existsSync(migrateFile) ? readFileSync(migrateFile, 'utf8').trim() : 'unknown';
console.log(
  `${takeovers} takeovers and ${kills} kills, ${perSecond} scans/s, ${codes} codes, seed ${seed}, ` +
    `net.ipv4.tcp_migrate_req = ${migrates}, load ${loadavg()[0]?.toFixed(1)}`,
);
makeGeoFiles(() => undefined);
const failed: string[] = [];

function show(result: StageResult, rows: readonly Row[], criteria: readonly Criterion[]): void {
  for (const note of result.notes) console.log(`unexpected: ${note}`);
  for (const [name, value] of rows) console.log(`${name.padEnd(34)} ${value}`);
  for (const { what, holds } of criteria) console.log(`${holds ? 'holds ' : 'FAILED'} ${what}`);
  failed.push(...criteria.filter(({ holds }) => !holds).map(({ what }) => what));
}

if (takeovers > 0) {
  const ports = await freePorts();
  const steadyMs = Number(values['steady-ms']);
  const onTakeover: TakeoversOptions['onTakeover'] = (number, takeover) => {
    const parts = takeover?.intervals.map(({ name, ms }) => `${name} ${ms}`).join(', ');
    console.log(`${way} ${number}: ${Math.round(takeover?.ms ?? 0)} ms (${parts ?? ''})`);
  };
  const options = { ports, takeovers, perSecond, codes, seed, steadyMs, way, onTakeover } as const;
  const result = await withDataFolder((dataDir) => runTakeovers({ ...options, dataDir }));
  show(result, figuresOf(result, result.takeovers), [...soundness(result), ...speed(result)]);
}

if (kills > 0) {
  const ports = await freePorts();
  const onKill: KillsOptions['onKill'] = ({ number, victim, moment, after, survivor, servedMs }) =>
    console.log(
      `kill ${number} of the ${victim}, ${moment} (after ${after}): ${survivor} is left and ` +
        `serves after ${servedMs?.toFixed(0) ?? '-'} ms`,
    );
  const load = { ports, perSecond: lightPerSecond, codes, seed, kept } as const;
  const options = { ...load, kills, onKill };
  const result = await withDataFolder((dataDir) => runKills({ ...options, dataDir }));
  show(result, [...figuresOf(result, []), ...killRows(result.kills)], soundness(result));
}

if (values.cases !== 'none') {
  const ports = await freePorts();
  const onCase: CasesOptions['onCase'] = (name, ms, notes) =>
    console.log(
      `${name}: ${notes.length === 0 ? 'as expected' : notes.join('; ')}, ${Math.round(ms)} ms`,
    );
  const only = values.cases === 'all' ? undefined : values.cases.split(',');
  const load = { ports, perSecond: lightPerSecond, seed, kept } as const;
  const options = { ...load, only, onCase, takeoverAfter: 'each' } as const;
  const result = await withDataFolder((dataDir) => runCases({ ...options, dataDir }));
  show(result, figuresOf(result, []), soundness(result));
}

console.log(failed.length === 0 ? 'passed' : `FAILED, reproduce with --seed ${seed}`);
process.exitCode = failed.length === 0 ? 0 : 1;
