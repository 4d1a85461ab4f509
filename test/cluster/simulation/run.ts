/**
 * `npm run simulate:cluster -- --seeds 100000 --first 1 [--scans]`: prints the seed of each run that fails, and what it
 * found. With `--scans` the way of scans is simulated, else the replicated log; `--trace` prints each event of the log's.
 */
import { parseArgs } from 'node:util';
import { simulateScans } from './scan-simulation.ts';
import { simulate } from './simulation.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10000' },
    first: { type: 'string', default: '1' },
    scans: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
  },
});
const sums: Record<string, number> = { failed: 0 };
const first = Number(values.first);
for (let seed = first; seed < first + Number(values.seeds); seed++) {
  const result = await (values.scans ? simulateScans(seed) : simulate(seed));
  for (const [name, value] of Object.entries(result)) {
    if (typeof value === 'number') sums[name] = (sums[name] ?? 0) + value;
  }
  if (result.faults.length > 0) {
    sums['failed']! += 1;
    process.stdout.write(`seed ${seed}: ${result.faults.slice(0, 5).join('\n  ')}\n`);
  }
  if (values.trace && 'trace' in result) process.stdout.write(`${result.trace.join('\n')}\n`);
}
process.stdout.write(`${values.seeds} seeds: ${JSON.stringify(sums)}\n`);
process.exitCode = sums['failed'] === 0 ? 0 : 1;
