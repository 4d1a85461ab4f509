/**
 * What unique scanners cost: adding a visitor in every form of a sketch, reading and estimating it,
 * and the union of a year.
 */
import { Bench } from 'tinybench';
import { Sketch, sketchChunks } from '../../src/model/sketch/sketch.ts';
import { visitorHashes } from '../../test/support/visitor-hashes.ts';

export const question =
  'What does a visitor cost in a sketch, and what the union of a year of busy days (70 sketches)?';

interface Row {
  readonly name: string;
  readonly nanosecondsPerOperation: number;
  readonly note?: string;
}

/** Visitors added in one timed call, so that the timer's own cost vanishes. */
const batch = 1_024;

interface Stored {
  readonly inline: Uint8Array;
  readonly chunks: readonly (Uint8Array | undefined)[];
}

function sketchOf(seed: number, visitors: number): Sketch {
  const hashes = visitorHashes(seed);
  const sketch = Sketch.empty();
  for (let index = 0; index < visitors; index++) {
    hashes.make(index);
    sketch.add(hashes.hi, hashes.lo);
  }
  return sketch;
}

function store(sketch: Sketch): Stored {
  const dirty = new Set(sketch.dirtyChunks());
  const chunks = Array.from({ length: sketchChunks }, (_, index) =>
    dirty.has(index) ? sketch.chunkBytes(index).slice() : undefined,
  );
  return { inline: sketch.inlineBytes().slice(), chunks };
}

const merged = (days: readonly Stored[]): Sketch => {
  const sketch = Sketch.empty();
  for (const { inline, chunks } of days) sketch.mergeParts(inline, (index) => chunks[index]);
  return sketch;
};

function check(visitors: number, sketch: Sketch): void {
  const error = sketch.estimate() / visitors - 1;
  if (Math.abs(error) > 0.02) throw new Error(`Cannot time a wrong sketch: error ${error}`);
}

/** Adds `batch` visitors that the sketch knows already: what most scans of a busy code are. */
function addKnown(bench: Bench, visitors: number): string {
  const sketch = sketchOf(1, visitors);
  check(visitors, sketch);
  const count = Math.min(visitors, batch);
  const words = new Uint32Array(batch * 2);
  const hashes = visitorHashes(1);
  for (let index = 0; index < batch; index++) {
    hashes.make(Math.imul(index, 7) % (visitors > batch ? visitors : count));
    words[index * 2] = hashes.hi;
    words[index * 2 + 1] = hashes.lo;
  }
  const name = `add a known visitor, ${visitors} in the sketch`;
  bench.add(name, () => {
    let changes = 0;
    for (let at = 0; at < words.length; at += 2) {
      if (sketch.add(words[at]!, words[at + 1]!)) changes++;
    }
    if (changes !== 0) throw new Error(`Cannot time: ${changes} known visitors were new`);
  });
  return name;
}

export async function run(options: { readonly quick: boolean }): Promise<Row[]> {
  const bench = new Bench({
    time: options.quick ? 1 : 1_000,
    warmupTime: options.quick ? 0 : 300,
    ...(options.quick ? { iterations: 2, warmupIterations: 0 } : {}),
  });
  const perCall = new Map<string, number>();
  for (const visitors of [50, 1_000, 100_000]) perCall.set(addKnown(bench, visitors), batch);

  const fill = `add a new visitor, from none to ${batch * 16}`;
  perCall.set(fill, batch * 16);
  bench.add(fill, () => sketchOf(2, batch * 16));

  const busy = store(sketchOf(3, 100_000));
  const dense = Sketch.fromParts(busy.inline, (index) => busy.chunks[index]);
  check(100_000, dense);
  bench.add('read a stored sketch, 100,000 visitors', () => {
    Sketch.fromParts(busy.inline, (index) => busy.chunks[index]);
  });
  bench.add('estimate, 100,000 visitors', () => dense.estimate());

  const days = Array.from({ length: 70 }, (_, day) => store(sketchOf(100 + day, 27_000)));
  check(70 * 27_000, merged(days));
  bench.add('union of 70 stored sketches of 27,000 visitors', () => merged(days));

  await bench.run();
  return bench.tasks.map((task) => {
    if (task.result.state !== 'completed') throw new Error(`Cannot measure ${task.name}`);
    const calls = perCall.get(task.name) ?? 1;
    return {
      name: task.name,
      nanosecondsPerOperation: (task.result.latency.p50 * 1e6) / calls,
      note: `p99 ${((task.result.latency.p99 * 1e6) / calls).toFixed(0)} ns`,
    };
  });
}
