/**
 * `npm run crash:cluster -- [--seconds 60] [--seed 7] [--kills all|none|kill-active,pause-broker…] [--equal-within 5]`
 *
 * Runs a cluster of whole services on real brokers (crash.ts) and breaks it. Prints the faults, the answers and how
 * long no write was answered. Exits with 1 if an answered scan or write is lost or there twice, if an answer is stale
 * or late, or if the cores differ `--equal-within` seconds after the load.
 *
 * Without a nats-server it prints why it does not run, and exits with 0.
 */
import { parseArgs } from 'node:util';
import { findNatsServer } from '../../../config/demo/nats-server.ts';
import { runCrashes } from './crash.ts';
import { faultKinds } from './faults.ts';
import { rowsOf } from './report.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    kills: { type: 'string', default: 'all' },
    'equal-within': { type: 'string', default: '5' },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => process.exit(1));

const named = values.kills.split(',');
const kinds = values.kills === 'all' ? faultKinds : faultKinds.filter((one) => named.includes(one));
const isNamed = ['all', 'none'].includes(values.kills) || kinds.length === named.length;
const [seed, seconds] = [Number(values.seed), Number(values.seconds)];
if (!isNamed || !Number.isInteger(seed)) {
  throw new Error(`Cannot run: expected --seed N, --kills all|none|${faultKinds.join(',')}`);
}
const server = await findNatsServer();
if ('missing' in server) {
  say(`crash:cluster: not run: ${server.missing}`);
} else {
  say(`${seconds} s, seed ${seed}, nats-server ${server.version}`);
  const result = await runCrashes({
    server,
    seconds,
    seed,
    kinds,
    equalMsMax: 1_000 * Number(values['equal-within']),
  });
  const { unexpected, unexpectedCount } = result.ledger;
  for (const [name, value] of rowsOf(result)) say(`${name.padEnd(26)} ${value}`);
  for (const fault of unexpected) say(`FAULT: ${fault}`);
  if (result.evidence !== undefined) say(result.evidence);
  say(unexpectedCount === 0 ? 'passed' : `FAILED: ${unexpectedCount} faults`);
  process.exit(unexpectedCount === 0 ? 0 : 1);
}
