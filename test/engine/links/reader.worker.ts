/**
 * A reader in a thread, until the stop word is set. `verify` looks codes up and checks each answer against the changes that
 * the writer had finished before; `take` uses up the scans of limited codes.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { LinkTableMemory } from '../../../src/engine/links/layout.ts';
import { LinkReader } from '../../../src/engine/links/reader.ts';
import { createRandom, expiryOf, keyText, parseTarget } from './table.ts';

export interface ReaderTask {
  readonly mode: 'verify' | 'take';
  readonly memory: LinkTableMemory;
  readonly readerIndex: number;
  /** By key: `version * 2 + (deleted ? 1 : 0)` of the newest change that has returned; 0 = none yet. */
  readonly finished: SharedArrayBuffer;
  /** Word 0: stop. */
  readonly stop: SharedArrayBuffer;
  /** By reader: live and deleted codes it has found, so that the writer goes on until there are enough. */
  readonly seen: SharedArrayBuffer;
}

/** `taken`: by key, scans that `takeScan` granted. */
export type ReaderReport = typeof report;

const task: ReaderTask = workerData;
const reader = new LinkReader(task.memory, task.readerIndex);
const finished = new Int32Array(task.finished);
const stop = new Int32Array(task.stop);
const seen = new Int32Array(task.seen);
const paths = Array.from({ length: finished.length }, (_, key) => `/${keyText(key).toLowerCase()}`);
const counts = { found: 0, deleted: 0 };
const random = createRandom(task.readerIndex + 1);

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

function lookUp(key: number) {
  const floor = Atomics.load(finished, key);
  const handle = reader.find(paths[key]!, 1);
  if (handle === 0) {
    expect(floor === 0, `key ${key}: unknown after change ${floor} had returned`);
    return undefined;
  }
  expect(reader.codeNo(handle) === key + 1, `key ${key}: code ${reader.codeNo(handle)}`);
  const version = reader.workspaceNo(handle);
  if (reader.state(handle) === 'deleted') {
    expect(version * 2 + 1 >= floor, `key ${key}: deleted ${version} after change ${floor}`);
    counts.deleted += 1;
    return undefined;
  }
  expect(version * 2 >= floor, `key ${key}: live ${version} after change ${floor} had returned`);
  const bytes = reader.target(handle);
  const text = Buffer.from(bytes).toString('latin1');
  const tagged = parseTarget(text);
  expect(tagged.key === key && tagged.version === version, `key ${key}/${version}: ${text}`);
  expect(reader.expiresAtMs(handle) === expiryOf(version), `key ${key}/${version}: wrong expiry`);
  counts.found += 1;
  return { handle, text, version };
}

/** One cycle: everything found in it must still be the same at its end. */
function cycle(lookUps: number): void {
  const held: Array<NonNullable<ReturnType<typeof lookUp>>> = [];
  reader.enter();
  for (let i = 0; i < lookUps; i += 1) {
    const one = lookUp(random(finished.length));
    if (one !== undefined) held.push(one);
  }
  for (const { handle, text, version } of held) {
    const now = Buffer.from(reader.target(handle)).toString('latin1');
    expect(now === text, `reused before leave: ${text}`);
    expect(reader.workspaceNo(handle) === version, `header reused before leave: ${text}`);
    expect(reader.find('/NEVER-PUT', 1) === 0, 'found a code that was never put');
  }
  reader.leave();
  Atomics.store(seen, task.readerIndex * 2, counts.found);
  Atomics.store(seen, task.readerIndex * 2 + 1, counts.deleted);
}

function verify(): void {
  for (let n = 0; Atomics.load(stop, 0) === 0; n += 1) cycle(n % 50 === 0 ? 2_000 : 16);
}

function take(): number[] {
  const taken = Array.from({ length: finished.length }, () => 0);
  while (Atomics.load(stop, 0) === 0) {
    reader.enter();
    for (let i = 0; i < 32; i += 1) {
      const key = random(finished.length);
      const handle = reader.find(paths[key]!, 1);
      if (handle !== 0 && reader.takeScan(handle)) taken[key]! += 1;
    }
    reader.leave();
  }
  return taken;
}

parentPort?.postMessage('ready', []);
let taken: number[] = [];
let fault = '';
try {
  if (task.mode === 'take') taken = take();
  else verify();
} catch (error) {
  fault = String(error);
  reader.leave();
}
const report = { ...counts, taken, fault };
parentPort?.postMessage(report, []);
