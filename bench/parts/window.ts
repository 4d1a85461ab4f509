/**
 * What does a window of 5,000 scans cost, from entries to numbers on the disk?
 *
 * All of one code, and each of its own code: the two ends between which real traffic lies. Gather
 * and close are the window's; take is the actors'; commit and checkpoint are the store's.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bench } from 'tinybench';
import { ScanBlock } from '../../src/engine/counting/block.ts';
import { CodeActor } from '../../src/engine/counting/code-actor.ts';
import { countryNumber } from '../../src/model/scan.ts';
import { Summaries } from '../../src/engine/counting/summaries.ts';
import { type Scan, setBlockSequence, Window } from '../../src/engine/counting/window.ts';
import { openScanStore, type ScanStore } from '../../src/store/scans/scans.ts';

export const question = 'What does a window of 5,000 scans over 1 and over 5,000 codes cost?';

export interface Row {
  readonly name: string;
  readonly nanosecondsPerOperation: number;
  readonly note?: string;
}

const scansPerWindow = 5_000;
const dayMs = 20_730 * 86_400_000;
const namesMax = 100;

function scanAt(index: number, codes: number): Scan {
  return {
    codeNo: (index % codes) + 1,
    workspaceNo: 1,
    timeMs: dayMs + index,
    journal: 0,
    position: index * 200,
    visitorHigh: Math.imul(index, 0x9e3779b1) >>> 0,
    visitorLow: Math.imul(index, 0x85ebca6b) >>> 0,
    country: countryNumber(index % 3 === 0 ? 'US' : 'DE'),
    city: `City ${index % 40}, DE`,
    referer: index % 4 === 0 ? 'https://www.example.org/' : '',
    device: 1,
    platform: 1,
    os: 1,
    browser: 2,
    bot: 0,
    route: 0,
  };
}

function gather(window: Window, scans: readonly Scan[]): Buffer {
  window.clear();
  for (const scan of scans) window.add(scan);
  return window.close(0, () => 0);
}

function commit(store: ScanStore, bytes: Buffer): number {
  return store.environment.transactionSync(() => {
    const next = (store.meta.get('sequence') ?? 0) + 1;
    setBlockSequence(bytes, next);
    store.blocks.put(next, bytes);
    store.meta.put('sequence', next);
    return next;
  });
}

function take(actors: readonly CodeActor[], block: ScanBlock): void {
  for (let group = 0; group < block.groups; group++) actors[group]!.take(block, group);
}

function checkpoint(store: ScanStore, actors: readonly CodeActor[]): void {
  store.environment.transactionSync(() => {
    for (const actor of actors) actor.save();
  });
  for (const actor of actors) actor.settle();
}

function addCases(bench: Bench, store: ScanStore, codes: number): void {
  const scans = Array.from({ length: scansPerWindow }, (_, index) => scanAt(index, codes));
  const summaries = new Summaries(store, namesMax);
  const create = (): CodeActor[] =>
    Array.from({ length: codes }, (_, index) => new CodeActor(index + 1, summaries));
  const window = new Window();
  const bytes = Buffer.from(gather(window, scans));
  let actors = create();
  take(actors, new ScanBlock(bytes));
  checkpoint(store, actors);
  let total = 0;
  for (let code = 1; code <= codes; code++) total += summaries.total(code);
  if (total !== scansPerWindow)
    throw new Error(`Wrong answer: ${total} scans, expected ${scansPerWindow}`);
  const of = `${codes} code${codes === 1 ? '' : 's'}`;
  bench.add(`add and close, ${of}`, () => void gather(window, scans));
  bench.add(`commit the block, ${of}`, () => void commit(store, bytes));
  bench.add(`take by actors, ${of}`, () => take(actors, new ScanBlock(bytes)));
  bench.add(`checkpoint, ${of}`, () => checkpoint(store, actors), {
    beforeEach: () => take(actors, new ScanBlock(bytes)),
  });
  bench.add(`load the actors, ${of}`, () => void (actors = create()));
}

/** The median window of each case, per scan. */
export async function run(options: { readonly quick: boolean }): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-bench-'));
  const stores = [1, 5_000].map((codes) => ({
    codes,
    store: openScanStore(join(folder, `${codes}.mdb`), 'create'),
  }));
  const bench = new Bench(
    options.quick ? { time: 1, iterations: 2, warmup: false } : { time: 1_000, iterations: 10 },
  );
  for (const { codes, store } of stores) addCases(bench, store, codes);
  await bench.run();
  for (const { store } of stores) await store.environment.close();
  rmSync(folder, { recursive: true });
  return bench.tasks.map(({ name, result }): Row => {
    if (result.state !== 'completed') throw new Error(`Cannot measure ${name}: ${result.state}`);
    const { p50, p99 } = result.latency;
    const note = `a window: ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`;
    return { name, nanosecondsPerOperation: (p50 * 1e6) / scansPerWindow, note };
  });
}
