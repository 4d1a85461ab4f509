/** `npm run simulate -- --seeds 200 --first 1 --steps 300`: as many runs; prints the seed of each that fails, and what it found. */
import { parseArgs } from 'node:util';
import { simulate } from './simulation.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    first: { type: 'string', default: '1' },
    steps: { type: 'string', default: '200' },
    trace: { type: 'boolean', default: false },
  },
});
let [failed, starts, sent] = [0, 0, 0];
const first = Number(values.first);
for (let seed = first; seed < first + Number(values.seeds); seed++) {
  const result = await simulate(seed, Number(values.steps));
  starts += result.starts;
  sent += result.sent;
  if (result.faults.length === 0) continue;
  failed += 1;
  process.stdout.write(`seed ${seed}: ${result.faults.slice(0, 5).join('\n  ')}\n`);
  if (values.trace) process.stdout.write(`${result.trace.join('\n')}\n`);
}
process.stdout.write(
  `${failed} of ${values.seeds} seeds failed; ${starts} starts, ${sent} deliveries\n`,
);
process.exitCode = failed === 0 ? 0 : 1;
