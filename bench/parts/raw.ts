/**
 * What does it take to filter raw scans?
 *
 * As dense as a busy installation writes them, a hundred scans to a block, of nearly as many codes and cities, and as sparse
 * as a quiet one does: one scan to a block, so that 10 million of them are 10 million blocks. They are in the page cache. The
 * walk is that of the query thread; the CPU time of the whole process counts, garbage collection too. Each answer is checked
 * against what was counted when the scans were made.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RawQuery } from '../../src/engine/analytics/raw/raw-query.ts';
import { countRaw } from '../../src/engine/analytics/raw/raw-walk.ts';
import { openScanStore, type ScanStore } from '../../src/store/scans/scans.ts';
import type { PartRow } from '../parts.ts';
import { fillRawScans, rawFilters, rawQuery } from '../raw-scans.ts';

export const question = 'What does it take to filter 10 million raw scans, dense and sparse?';

/** @returns milliseconds of CPU time */
function measure(store: ScanStore, query: RawQuery, wanted: number): number {
  const before = process.cpuUsage();
  const answer = countRaw(store, query);
  const { user, system } = process.cpuUsage(before);
  const found = answer.rollup.scans;
  if (found !== wanted) throw new Error(`Wrong answer: ${found} scans, expected ${wanted}`);
  return (user + system) / 1e3;
}

interface Filled {
  readonly kind: string;
  readonly scans: number;
  readonly scansPerBlock: number;
}

function rowsOf({ kind, scans, scansPerBlock }: Filled, rounds: number): PartRow[] {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-bench-'));
  const store = openScanStore(join(folder, 'scans.mdb'), 'create');
  try {
    const counts = fillRawScans(store, scans, scansPerBlock);
    return Object.entries(rawFilters).map(([name, filter]): PartRow => {
      const query = rawQuery(filter);
      measure(store, query, counts.get(name)!);
      const runs = Array.from({ length: rounds }, () => measure(store, query, counts.get(name)!));
      const medianMs = runs.sort((a, b) => a - b)[Math.floor(rounds / 2)]!;
      const range = `${runs[0]!.toFixed(0)} to ${runs.at(-1)!.toFixed(0)} ms`;
      const each = `${((medianMs * 1e6) / scans).toFixed(0)} ns a scan`;
      const note = `${range}, ${each}, ${counts.get(name)} match`;
      const row = `${kind}, ${scans} scans, by ${name}`;
      return { name: row, nanosecondsPerOperation: medianMs * 1e6, note };
    });
  } finally {
    void store.environment.close();
    rmSync(folder, { recursive: true });
  }
}

/** The median of the queries. */
export async function run(options: { readonly quick: boolean }): Promise<PartRow[]> {
  const [dense, sparse, rounds] = options.quick ? [20_000, 2_000, 1] : [10_000_000, 1_000_000, 7];
  return [
    ...rowsOf({ kind: 'dense', scans: dense, scansPerBlock: 100 }, rounds),
    ...rowsOf({ kind: 'sparse', scans: sparse, scansPerBlock: 1 }, rounds),
  ];
}
