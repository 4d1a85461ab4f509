/** Asks for raw scans, one query after the other, until its input ends; then says how many were answered. `raw-queries.ts FILE` */
import { RawQueries } from '../../src/engine/analytics/raw/raw-queries.ts';
import { rawFilters, rawQuery } from '../raw-scans.ts';

const [path = ''] = process.argv.slice(2);
const queries = new RawQueries(path);
const stop = new AbortController();
process.stdin.on('end', () => stop.abort()).resume();
let answered = 0;
while (!stop.signal.aborted) {
  await queries.run(rawQuery(rawFilters['country and device']!));
  answered++;
  if (answered === 1) process.stdout.write('running\n');
}
await queries.close();
process.stdout.write(`${answered}\n`);
