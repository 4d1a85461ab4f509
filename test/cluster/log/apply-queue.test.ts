import { expect, it } from 'vitest';
import { ApplyQueue, type ReplicatedStore } from '../../../src/cluster/log/apply-queue.ts';
import { emptyPosition, type LogPosition } from '../../../src/cluster/log/applier.ts';
import { encodeWrites } from '../../../src/cluster/log/entry.ts';

const at = (seq: number): LogPosition => ({ ...emptyPosition, seq });
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const parts = encodeWrites([['t', 1]]);
/** 8 MiB, in one part. */
const large = encodeWrites([['t', 1, Buffer.alloc(8 * 1_048_576)]], Infinity);

function open() {
  const calls: Array<{ seq: number; after: number; resolve: () => void; reject: () => void }> = [];
  const events: string[] = [];
  let stored = at(4);
  const store: ReplicatedStore = {
    position: () => stored,
    apply: (_, { seq }, after) =>
      new Promise((resolve, reject) => {
        calls.push({
          seq,
          after: after.seq,
          resolve: () => {
            stored = at(seq);
            resolve();
          },
          reject: () => reject(new Error(`cannot store ${seq}`)),
        });
      }),
  };
  const queue = new ApplyQueue({
    store,
    onFailed: (error) => events.push(error instanceof Error ? error.message : ''),
    onDrained: () => events.push('drained'),
  });
  const add = (seq: number, content: readonly Uint8Array[] = parts): void => {
    queue.add(content, at(seq), () => events.push(`stored ${seq}`));
  };
  return { queue, calls, events, add };
}

it('stores several at once, each on the one before it', async () => {
  const { queue, calls, events, add } = open();
  expect(queue.isIdle).toBe(true);
  add(5);
  add(6, []);
  add(7);
  await settled();
  expect(calls.map(({ seq, after }) => [seq, after])).toEqual([
    [5, 4],
    [6, 5],
    [7, 6],
  ]);
  expect(queue.isIdle).toBe(false);
  calls[0]!.resolve();
  await settled();
  expect(queue.stored.seq).toBe(5);
  for (const { resolve } of calls.slice(1)) resolve();
  await settled();
  expect(events).toEqual(['stored 5', 'stored 6', 'stored 7']);
  expect(queue.isIdle).toBe(true);
});

it('reports a failure once, stores nothing after it, and begins again from what is stored', async () => {
  const { queue, calls, events, add } = open();
  for (const seq of [5, 6, 7]) add(seq);
  calls[0]!.resolve();
  calls[1]!.reject();
  calls[2]!.reject();
  await settled();
  expect(events).toEqual(['stored 5', 'cannot store 6']);
  expect(queue.begin().seq).toBe(5);
  expect(queue.isIdle).toBe(true);
  add(6);
  await settled();
  expect(calls.at(-1)).toMatchObject({ seq: 6, after: 5 });
  calls.at(-1)!.resolve();
  await settled();
  expect(events.slice(2)).toEqual(['stored 6']);
  expect(queue.stored.seq).toBe(6);
});

it('a late answer to what was added before a failure counts no more', async () => {
  const { queue, calls, events, add } = open();
  add(5);
  add(6);
  calls[0]!.reject();
  await settled();
  queue.begin();
  calls[1]!.resolve();
  await settled();
  expect(events).toEqual(['cannot store 5']);
  expect(queue.stored.seq).toBe(4);
});

it('bytes that are no writes fail as a store that refuses them does', async () => {
  const { events, add } = open();
  add(5, [Buffer.from('foreign')]);
  await settled();
  expect(events).toHaveLength(1);
  expect(events[0]).not.toMatch(/^stored/);
});

it('is full above 32 MiB, until nothing waits any more', async () => {
  const { queue, calls, events, add } = open();
  for (const seq of [5, 6, 7]) add(seq, large);
  await settled();
  expect(queue.isFull).toBe(false);
  add(8, large);
  expect(queue.isFull).toBe(true);
  for (const { resolve } of calls.slice(0, 3)) resolve();
  await settled();
  expect(queue.isFull).toBe(true);
  expect(events).not.toContain('drained');
  calls[3]!.resolve();
  await settled();
  expect(events.at(-1)).toBe('drained');
  expect(queue.isFull).toBe(false);
  // Not each time that nothing waits.
  add(9);
  await settled();
  calls[4]!.resolve();
  await settled();
  expect(events.filter((event) => event === 'drained')).toHaveLength(1);
});

it('calls no onDrained after a failure, though it was full', async () => {
  const { queue, calls, events, add } = open();
  for (const seq of [5, 6, 7, 8]) add(seq, large);
  expect(queue.isFull).toBe(true);
  await settled();
  calls[0]!.reject();
  await settled();
  queue.begin();
  for (const { reject } of calls.slice(1)) reject();
  await settled();
  expect(events).toEqual(['cannot store 5']);
  expect(queue.isFull).toBe(false);
});
