/**
 * `npm run crash:cluster -- [--seconds 60] [--seed 7] [--kills all|none|kill-active,pause-broker…] [--ack broker|standby|single]
 *                           [--rate 100 | --callers 50] [--plain] [--equal-within 5]`
 *
 * The replicated log on real brokers and real processes (crash.ts). Prints what was done, what was answered and how
 * long nothing could be written; exits with 1 when anything was lost, was there although refused, or was answered late,
 * and when the cores are not equal `--equal-within` so many seconds after healing.
 * With `--kills none --plain` it gives figures; `--callers` writes as fast as that many callers can.
 * Without a nats-server it says why it does not run, and exits with 0.
 */
import { parseArgs } from 'node:util';
import { findNatsServer } from '../nats/nats-server.ts';
import { type CrashOptions, runCrashes } from './crash.ts';
import { faultKinds } from './fault-kinds.ts';
import { rowsOf } from './report.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    kills: { type: 'string', default: 'all' },
    ack: { type: 'string' },
    rate: { type: 'string', default: '100' },
    callers: { type: 'string', default: '0' },
    'equal-within': { type: 'string', default: '5' },
    plain: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => process.exit(1));

const server = await findNatsServer();
if ('missing' in server) {
  say(`crash:cluster: not run: ${server.missing}`);
} else {
  const options: CrashOptions = { server, ...readOptions() };
  const { ack, seed, seconds } = options;
  say(`${seconds} s, seed ${seed}, ack ${ack}, nats-server ${server.version}`);
  const result = await runCrashes(options);
  for (const [name, value] of rowsOf(result)) say(`${name.padEnd(26)} ${value}`);
  const { faults, faultCount } = result.ledger;
  for (const fault of faults) say(`FAULT: ${fault}`);
  if (result.evidence !== undefined) say(result.evidence);
  say(faultCount === 0 ? 'passed' : `FAILED: ${faultCount} faults`);
  process.exit(faultCount === 0 ? 0 : 1);
}

function readOptions(): Omit<CrashOptions, 'server'> {
  const seed = Number(values.seed);
  const [seconds, perSecond, callers] = [values.seconds, values.rate, values.callers].map(Number);
  const acks = ['broker', 'standby', 'single'] as const;
  const ack = acks.find((name) => name === values.ack);
  const named = values.kills.split(',');
  const kinds =
    values.kills === 'all' ? faultKinds : faultKinds.filter((kind) => named.includes(kind));
  const isNamed = ['all', 'none'].includes(values.kills) || kinds.length === named.length;
  if (!isNamed || (values.ack !== undefined && ack === undefined) || !Number.isInteger(seed)) {
    throw new Error(
      `Cannot run: expected --seed N, --ack ${acks.join('|')}, --kills all|none|${faultKinds.join(',')}`,
    );
  }
  return {
    seconds: seconds!,
    seed,
    kinds: ack === 'single' ? [] : kinds,
    equalMsMax: 1_000 * Number(values['equal-within']),
    ack: ack ?? (seed % 2 === 0 ? 'broker' : 'standby'),
    load: { perSecond: callers! > 0 ? 0 : perSecond!, callers: callers!, isPlain: values.plain },
  };
}
