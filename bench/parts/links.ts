/**
 * What does a redirect's look-up cost, and does it still cost that with 10 million codes?
 *
 * Every case looks up the same number of paths, each its own string object, laid out one after
 * the other: a real path is fresh in cache too, so the difference between two sizes is the table's.
 * Codes are drawn at random, over enough of them that a table's lines don't stay in the cache.
 */
import { Bench } from 'tinybench';
import {
  createLinkTableMemory,
  type Link,
  type LinkTableMemory,
} from '../../src/engine/links/layout.ts';
import { LinkReader } from '../../src/engine/links/reader.ts';
import { LinkWriter } from '../../src/engine/links/writer.ts';
import { createRandom } from '../random.ts';
import { systemClock } from '../../src/platform/system-clock.ts';

export const question = 'What does a link look-up cost at 10 k and at 10 M codes?';

export interface Row {
  readonly name: string;
  readonly nanosecondsPerOperation: number;
  readonly note?: string;
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** Look-ups between two looks at the clock. */
const batchLookUps = 4_096;
/** Indexes from here on are looked up and never stored. */
const neverStored = 2 ** 31;

/** Spreads 0, 1, 2.. over the 2^40 codes of 8 characters, each once. */
function codeText(index: number): string {
  const low = Math.imul(index, 0x9e3779b1) >>> 0;
  let text = '';
  for (let bits = 0; bits < 30; bits += 5) text += alphabet[(low >>> bits) & 31];
  return text + alphabet[low >>> 30]! + alphabet[index & 31]!;
}

function targetText(index: number): string {
  return `https://shop.example/campaigns/spring/${index}?utm_source=qr`;
}

function linkAt(index: number): Link {
  return {
    key: codeText(index),
    codeNo: index + 1,
    workspaceNo: 1,
    target: targetText(index),
    expiresAtMs: 0,
    scansLeft: -1,
    state: 'live',
  };
}

function createMemory(linksExpected: number): LinkTableMemory {
  const options = { slotBytesMax: 2 ** 31, arenaBytesMax: 2 ** 34, readersMax: 4, linksExpected };
  return createLinkTableMemory(options);
}

interface Table {
  readonly memory: LinkTableMemory;
  readonly note: string;
}

/** Loads a table that was made for so many codes, as a start does. */
function load(codes: number): Table {
  const memory = createMemory(codes);
  const writer = new LinkWriter(memory, systemClock);
  const begin = performance.now();
  for (let index = 0; index < codes; index += 1) writer.put(linkAt(index));
  const seconds = (performance.now() - begin) / 1_000;
  let targetBytes = 0;
  for (let index = 0; index < codes; index += 1) targetBytes += targetText(index).length;
  const bytesPerCode = (writer.bytesUsed - targetBytes) / codes;
  const note = `${bytesPerCode.toFixed(1)} bytes a code beyond the URL, all regions; loaded in ${seconds.toFixed(2)} s, making the texts included`;
  return { memory, note };
}

function drawPaths(codes: number, count: number, offset: number): string[] {
  const random = createRandom(0x2545f491);
  return Array.from({ length: count }, () =>
    Buffer.from(`/${codeText(offset + (random() % codes))}`).toString('latin1'),
  );
}

function check(reader: LinkReader, paths: readonly string[], codes: number): void {
  const misses = drawPaths(codes, 1_000, neverStored);
  reader.enter();
  for (const path of paths.slice(0, 10_000)) {
    const handle = reader.find(path, 1);
    if (handle === 0) throw new Error(`Wrong answer: ${path} is not found`);
    const index = reader.codeNo(handle) - 1;
    const location = Buffer.from(reader.target(handle)).toString('latin1');
    if (`/${codeText(index)}` !== path || location !== targetText(index)) {
      throw new Error(`Wrong answer: ${path} leads to ${location}`);
    }
  }
  for (const path of misses) {
    if (reader.find(path, 1) !== 0) throw new Error(`Wrong answer: ${path} is found`);
  }
  reader.leave();
}

/** One size's cases, each a batch of look-ups that continues where the last one stopped. */
function addCases(bench: Bench, table: Table, codes: number, count: number): string[] {
  const reader = new LinkReader(table.memory, 0);
  const hits = drawPaths(codes, count, 0);
  const misses = drawPaths(codes, count, neverStored);
  check(reader, hits, codes);
  const names: string[] = [];
  const add = (what: string, paths: readonly string[], visit: (path: string) => number): void => {
    let at = 0;
    let sum = 0;
    const name = `${what}, ${codes} codes`;
    names.push(name);
    bench.add(name, () => {
      reader.enter();
      for (let i = 0; i < batchLookUps; i += 1) sum += visit(paths[at + i]!);
      reader.leave();
      at = at + 2 * batchLookUps <= paths.length ? at + batchLookUps : 0;
      if (sum === -1) throw new Error('unreachable: keeps the sum alive');
    });
  };
  add('hit', hits, (path) => reader.find(path, 1));
  add('miss', misses, (path) => reader.find(path, 1));
  add('hit, state, codeNo, location', hits, (path) => {
    const handle = reader.find(path, 1);
    if (reader.state(handle) === 'deleted') return 0;
    return reader.codeNo(handle) + reader.target(handle).length;
  });
  return names;
}

/** Nobody is stopped while the table grows: the slowest of so many inserts into an empty one. */
function measureGrowth(codes: number): Row {
  const writer = new LinkWriter(createMemory(0), systemClock);
  const slowest = [0, 0, 0];
  let totalMs = 0;
  for (let index = 0; index < codes; index += 1) {
    const link = linkAt(index);
    const begin = performance.now();
    writer.put(link);
    const spentMs = performance.now() - begin;
    totalMs += spentMs;
    if (spentMs > slowest[0]!) slowest.splice(0, 1, spentMs);
    slowest.sort((a, b) => a - b);
  }
  const name = `put, growing from 0 to ${codes} codes`;
  const note = `slowest ${slowest.map((ms) => ms.toFixed(2)).join(', ')} ms`;
  return { name, nanosecondsPerOperation: (totalMs * 1e6) / codes, note };
}

/** The fastest batch of each case: the others were slowed by whatever else the machine does. */
export async function run(options: { readonly quick: boolean }): Promise<Row[]> {
  const sizes = options.quick ? [1_000, 10_000] : [10_000, 10_000_000];
  const paths = options.quick ? 8_192 : 1_048_576;
  const bench = new Bench(
    options.quick ? { time: 1, iterations: 2, warmup: false } : { time: 1_500, warmupTime: 500 },
  );
  const notes = new Map<string, string>();
  for (const codes of sizes) {
    const table = load(codes);
    for (const name of addCases(bench, table, codes, paths)) notes.set(name, table.note);
  }
  await bench.run();
  const rows = bench.tasks.map(({ name, result }): Row => {
    if (result.state !== 'completed') throw new Error(`Cannot measure ${name}: ${result.state}`);
    const nanosecondsPerOperation = (result.latency.min * 1e6) / batchLookUps;
    return { name, nanosecondsPerOperation, note: notes.get(name) ?? '' };
  });
  return [...rows, measureGrowth(options.quick ? 20_000 : 1_000_000)];
}
