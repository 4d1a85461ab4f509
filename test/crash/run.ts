/**
 * `npm run crash -- --rounds 200 --seed 7 [--durability process|power] [--load-ms 6000] [--rate 3000]`
 *
 * Prints a line a round and what was counted at the end (comparison.ts, receipts.ts); exits with 1 when anything was
 * lost, counted twice or unexpected.
 */
import { inspect, parseArgs } from 'node:util';
import { makeGeoTable } from '../../config/release/geo-files.ts';
import { freePorts, withDataFolder } from '../support/process.ts';
import { runCrashes } from './rounds.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    durability: { type: 'string', default: 'process' },
    'load-ms': { type: 'string', default: '6000' },
    rate: { type: 'string', default: '3000' },
  },
});

/** At least once: an attempt that was in flight at a kill is made again. */
const duplicatesShareMax = 0.01;
const durabilities = ['process', 'power'] as const;
const durability = durabilities.find((name) => name === values.durability);
const seed = Number(values.seed);
const rounds = Number(values.rounds);
if (durability === undefined || !Number.isInteger(seed) || !(rounds >= 1)) {
  console.error('Cannot run: expected --rounds N --seed N --durability process|power');
  process.exit(2);
}

console.log(`${rounds} rounds, seed ${seed}, durability ${durability}`);
// A service does not make it.
makeGeoTable(() => undefined);
const startedMs = performance.now();
const ports = await freePorts();
const result = await withDataFolder((dataDir) =>
  runCrashes({
    dataDir,
    ports,
    rounds,
    seed,
    durability,
    loadMsMax: Number(values['load-ms']),
    perSecond: Number(values.rate),
    onRound: (round, ledger) => {
      console.log(
        `round ${round.number}: killed ${round.killed} after ${milliseconds(round.killedAfterMs)}, ` +
          `ready ${milliseconds(round.readyMs)}, first redirect ${milliseconds(round.firstRedirectMs)}, ` +
          `${ledger.scans} scans and ${ledger.acknowledged} writes so far, ${ledger.unexpectedCount} unexpected`,
      );
    },
  }),
);
for (const note of result.notes) console.log(`unexpected: ${note}`);
const { rounds: kills, notes: _, ...sums } = result;
const starting = kills.filter(({ killed }) => killed === 'starting').length;
console.log(`${kills.length} kills, ${starting} of them while starting\n${inspect(sums)}`);
console.log(`start to ready           ${quantiles(kills.map(({ readyMs }) => readyMs))}`);
console.log(`start to first redirect  ${quantiles(kills.map((kill) => kill.firstRedirectMs))}`);
console.log(`duration                 ${milliseconds(performance.now() - startedMs)}`);
const { missing = 0, altered = 0, duplicated = 0, committed = 0, repeats } = result.receipts ?? {};
const share = duplicated / Math.max(1, committed);
console.log(
  `events received again    ${(share * 100).toFixed(2)} %, at most ${duplicatesShareMax * 100} %`,
);
const isOftenAgain = share > duplicatesShareMax ? 1 : 0;
const { unexplained = 0, late = 0 } = repeats ?? {};
const events = missing + altered + isOftenAgain + late + unexplained;
const faults = result.lost + result.duplicated + result.writesLost + events + result.unexpected;
const isSound = faults === 0 && result.exitCode === 0;
console.log(isSound ? 'passed' : `FAILED, reproduce with --seed ${seed} --rounds ${rounds}`);
process.exitCode = isSound ? 0 : 1;

function milliseconds(ms: number | undefined): string {
  return ms === undefined ? '-' : `${Math.round(ms)} ms`;
}

function quantiles(times: ReadonlyArray<number | undefined>): string {
  const known = times.filter((ms) => ms !== undefined).toSorted((a, b) => a - b);
  const at = (share: number): string => milliseconds(known[Math.floor((known.length - 1) * share)]);
  return known.length === 0 ? '-' : `p50 ${at(0.5)}, p95 ${at(0.95)}, max ${at(1)}`;
}
