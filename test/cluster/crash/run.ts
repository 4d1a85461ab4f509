/**
 * `npm run crash:cluster -- [--what both|service|log] [--seconds 60] [--seed 7] [--kills all|none|kill-active,pause-broker…]
 *                           [--equal-within 5]
 *                           service: [--scans 60] [--edge] [--late] [--webhooks] [--upgrade-from FILE|FOLDER]
 *                           log: [--single] [--rate 100 | --callers 50] [--plain]`
 *
 * A cluster on real brokers and real processes: whole services (../service-crash/), and the replicated log with nothing
 * around it (crash.ts), which sees many more writes and failovers; `both` gives a third of the seconds to the log. Prints
 * what was done, what was answered and how long nothing could be written; exits with 1 when anything was lost or twice,
 * was there although refused, was answered late or was stale, and when the cores are not equal `--equal-within` so many
 * seconds after healing.
 * With `--what log --kills none --plain` it gives figures; `--callers` writes as fast as that many callers can.
 * `--upgrade-from` begins with an earlier program, and gives each node this one before the faults.
 * With `--late` a core with an empty folder joins under load.
 * Without a nats-server it says why it does not run, and exits with 0.
 */
import { parseArgs } from 'node:util';
import { findNatsServer } from '../../../config/demo/nats-server.ts';
import { type CrashOptions, runCrashes } from './crash.ts';
import { faultKinds } from './fault-kinds.ts';
import { rowsOf } from './report.ts';
import { rowsOf as rowsOfService } from '../service-crash/report.ts';
import { runServiceCrashes } from '../service-crash/service-crash.ts';

const { values } = parseArgs({
  options: {
    what: { type: 'string', default: 'both' },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    kills: { type: 'string', default: 'all' },
    single: { type: 'boolean', default: false },
    rate: { type: 'string', default: '100' },
    callers: { type: 'string', default: '0' },
    scans: { type: 'string', default: '60' },
    edge: { type: 'boolean', default: false },
    late: { type: 'boolean', default: false },
    webhooks: { type: 'boolean', default: false },
    'upgrade-from': { type: 'string' },
    'equal-within': { type: 'string', default: '5' },
    plain: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => process.exit(1));

const parts = { service: ['service'], log: ['log'], both: ['service', 'log'] } as const;
const chosen = Object.entries(parts).find(([name]) => name === values.what)?.[1];
if (chosen === undefined) throw new Error('Cannot run: expected --what both|service|log');
/** Of `both`: whole services need more time for fewer faults. */
const shares = { service: 2 / 3, log: 1 / 3 };

const server = await findNatsServer();
if ('missing' in server) {
  say(`crash:cluster: not run: ${server.missing}`);
} else {
  const options: CrashOptions = { server, ...readOptions() };
  let faultCount = 0;
  for (const part of chosen) {
    const share = chosen.length > 1 ? shares[part] : 1;
    const seconds = Math.round(options.seconds * share);
    const { seed } = options;
    say(`${part}: ${seconds} s, seed ${seed}, nats-server ${server.version}`);
    faultCount += await (part === 'log' ? runLog : runService)({ ...options, seconds });
  }
  process.exit(faultCount === 0 ? 0 : 1);
}

/** @returns faults found */
async function runLog(options: CrashOptions): Promise<number> {
  const result = await runCrashes(options);
  const { faults, faultCount } = result.ledger;
  tell({ rows: rowsOf(result), faults, faultCount, evidence: result.evidence });
  return faultCount;
}

/** @returns faults found */
async function runService(options: CrashOptions): Promise<number> {
  if (options.isSingle) throw new Error('Cannot run: --single is for --what log');
  const result = await runServiceCrashes({
    ...options,
    perSecond: Number(values.scans),
    withEdge: values.edge,
    withLate: values.late,
    withReceiver: values.webhooks,
    former: values['upgrade-from'],
  });
  const { unexpected: faults, unexpectedCount: faultCount } = result.ledger;
  tell({ rows: rowsOfService(result), faults, faultCount, evidence: result.evidence });
  return faultCount;
}

interface Told {
  readonly rows: ReadonlyArray<readonly [name: string, value: string]>;
  readonly faults: readonly string[];
  readonly faultCount: number;
  readonly evidence: string | undefined;
}

function tell({ rows, faults, faultCount, evidence }: Told): void {
  for (const [name, value] of rows) say(`${name.padEnd(26)} ${value}`);
  for (const fault of faults) say(`FAULT: ${fault}`);
  if (evidence !== undefined) say(evidence);
  say(faultCount === 0 ? 'passed' : `FAILED: ${faultCount} faults`);
}

function readOptions(): Omit<CrashOptions, 'server'> {
  const seed = Number(values.seed);
  const [seconds, perSecond, callers] = [values.seconds, values.rate, values.callers].map(Number);
  const named = values.kills.split(',');
  const kinds =
    values.kills === 'all' ? faultKinds : faultKinds.filter((kind) => named.includes(kind));
  const isNamed = ['all', 'none'].includes(values.kills) || kinds.length === named.length;
  if (!isNamed || !Number.isInteger(seed)) {
    throw new Error(`Cannot run: expected --seed N, --kills all|none|${faultKinds.join(',')}`);
  }
  return {
    seconds: seconds!,
    seed,
    kinds: values.single ? [] : kinds,
    equalMsMax: 1_000 * Number(values['equal-within']),
    isSingle: values.single,
    load: { perSecond: callers! > 0 ? 0 : perSecond!, callers: callers!, isPlain: values.plain },
  };
}
