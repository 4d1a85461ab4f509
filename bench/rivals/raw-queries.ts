/** Asks for raw scans, one query after the other, until its input ends; then says how many were answered. `raw-queries.ts FILE` */
import { RawQueries } from '../../src/scans/query/raw/raw-queries.ts';
import { rawFilters, rawQuery } from '../raw-scans.ts';

const [path = ''] = process.argv.slice(2);
const queries = new RawQueries(path);
let isStopped = false;
process.stdin.on('end', () => (isStopped = true)).resume();
let answered = 0;
while (!isStopped) {
  await queries.run(rawQuery(rawFilters['country and device']!));
  answered++;
  if (answered === 1) process.stdout.write('running\n');
}
await queries.close();
process.stdout.write(`${answered}\n`);
