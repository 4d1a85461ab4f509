/** `npm run simulate:cluster -- --seeds 100000 --first 1`: prints the seed of each run that fails, and what it found. */
import { parseArgs } from 'node:util';
import { simulate } from './simulation.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10000' },
    first: { type: 'string', default: '1' },
    trace: { type: 'boolean', default: false },
  },
});
const sums = {
  failed: 0,
  done: 0,
  refused: 0,
  leads: 0,
  releases: 0,
  stopped: 0,
  entries: 0,
  pruned: 0,
};
const first = Number(values.first);
for (let seed = first; seed < first + Number(values.seeds); seed++) {
  const result = await simulate(seed);
  sums.done += result.done;
  sums.refused += result.refused;
  sums.leads += result.leads;
  sums.releases += result.releases;
  sums.stopped += result.stopped;
  sums.entries += result.entries;
  sums.pruned += result.pruned;
  if (result.faults.length > 0) {
    sums.failed += 1;
    process.stdout.write(`seed ${seed}: ${result.faults.slice(0, 5).join('\n  ')}\n`);
  }
  if (values.trace) process.stdout.write(`${result.trace.join('\n')}\n`);
}
process.stdout.write(`${values.seeds} seeds: ${JSON.stringify(sums)}\n`);
process.exitCode = sums.failed === 0 ? 0 : 1;
