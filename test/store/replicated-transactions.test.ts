/** The queue and the pump of a replicated environment, over a map and with a log that answers when it is told to. */
import { expect, test } from 'vitest';
import { Failure } from '../../src/model/failure.ts';
import { Signal } from '../../src/model/signal.ts';
import {
  type BatchRun,
  batchWorksMax,
  type Outcome,
  queuedWorksMax,
  ReplicatedTransactions,
  type StoredWrite,
  type Work,
} from '../../src/store/replicated-transactions.ts';
import { notActive } from './replicated-store.ts';

/** Works put into `data`; a batch takes at most `batchMax` of them. */
class Cluster {
  readonly data = new Map<string, number>();
  readonly batches: Array<readonly StoredWrite[]> = [];
  readonly lapsed = new Signal();
  readonly transactions: ReplicatedTransactions;
  batchMax = batchWorksMax;
  isActive = true;
  /** Ends the commit that runs. */
  answer: ((isTaken: boolean) => void) | undefined;
  isAnsweredAtOnce = true;
  #trial = new Map<string, number>();
  #writes: StoredWrite[] = [];

  constructor() {
    this.transactions = new ReplicatedTransactions({
      run: (works) => this.#run(works),
      replicator: this,
      soon: queueMicrotask,
    });
  }

  put(key: string, value: number): void {
    this.#trial.set(key, value);
    this.#writes.push(['t', key, Buffer.from([value])]);
  }
  get(key: string): number | undefined {
    return this.#trial.get(key);
  }
  check(): void {
    if (!this.isActive) throw notActive();
  }
  lapse(): void {
    this.isActive = false;
    this.lapsed.fire();
  }

  async commit(writes: readonly StoredWrite[]): Promise<void> {
    this.batches.push(writes);
    if (!this.isAnsweredAtOnce) {
      const isTaken = await new Promise<boolean>((resolve) => {
        this.answer = resolve;
      });
      this.answer = undefined;
      if (!isTaken) throw notActive();
    }
    for (const [, key, bytes] of writes) this.data.set(String(key), bytes![0]!);
  }

  #run(works: readonly Work[]): BatchRun {
    this.#trial = new Map(this.data);
    this.#writes = [];
    const outcomes = works.slice(0, this.batchMax).map((work): Outcome => {
      const count = this.#writes.length;
      try {
        return { value: work() };
      } catch (error) {
        this.#writes.length = count;
        return { error };
      }
    });
    return { outcomes, writes: this.#writes };
  }
}

const settled = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve));

test('what waits is one batch of at most 500, and what a run left is in the next, in order', async () => {
  const cluster = new Cluster();
  const order: number[] = [];
  const add = async (value: number): Promise<void> => {
    await cluster.transactions.add(() => cluster.put('k', value % 256));
    order.push(value);
  };
  await Promise.all(Array.from({ length: 1_200 }, (_, at) => add(at)));
  expect(cluster.batches.map(({ length }) => length)).toEqual([500, 500, 200]);
  cluster.batchMax = 3;
  await Promise.all(Array.from({ length: 8 }, (_, at) => add(1_200 + at)));
  expect(cluster.batches.slice(3).map(({ length }) => length)).toEqual([3, 3, 2]);
  expect(order).toEqual(Array.from({ length: 1_208 }, (_, at) => at));
});

test('transactions in the continuation of others end, in any depth and number', async () => {
  const cluster = new Cluster();
  const chain = async (depth: number): Promise<number> => {
    await cluster.transactions.add(() => cluster.put(`d${depth}`, depth));
    if (depth === 0) return 1;
    const counts = await Promise.all([chain(depth - 1), chain(depth - 1)]);
    return counts[0] + counts[1];
  };
  expect(await chain(7)).toBe(128);
  expect(cluster.batches).toHaveLength(8);
});

test('a batch that wrote nothing asks the log for nothing, and is refused when the lease is over', async () => {
  const cluster = new Cluster();
  expect(await cluster.transactions.add(() => 7)).toBe(7);
  const lapsing = cluster.transactions.add(() => {
    cluster.isActive = false;
  });
  await expect(lapsing).rejects.toMatchObject({ code: 'not_active' });
  expect(cluster.batches).toEqual([]);
});

test('a batch that the log refused is refused whole, and the next one knows nothing of it', async () => {
  const cluster = new Cluster();
  cluster.isAnsweredAtOnce = false;
  const takeSlug = (): void => {
    if (cluster.get('slug') !== undefined) throw new Failure('slug_taken', 'taken');
    cluster.put('slug', 1);
  };
  const both = Promise.allSettled([1, 2].map(() => cluster.transactions.add(takeSlug)));
  await settled();
  cluster.answer?.(false);
  for (const outcome of await both) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'not_active' } });
  }
  const again = Promise.allSettled([1, 2].map(() => cluster.transactions.add(takeSlug)));
  await settled();
  cluster.answer?.(true);
  expect(await again).toMatchObject([{ status: 'fulfilled' }, { reason: { code: 'slug_taken' } }]);
});

test('a lease that is over refuses what waits at once, and what stands at the log is answered by it', async () => {
  const cluster = new Cluster();
  cluster.isAnsweredAtOnce = false;
  const first = cluster.transactions.add(() => cluster.put('first', 1));
  await settled();
  const second = cluster.transactions.add(() => cluster.put('second', 2));
  cluster.lapsed.fire();
  cluster.lapse();
  await expect(second).rejects.toMatchObject({ code: 'not_active' });
  await expect(cluster.transactions.add(() => 1)).rejects.toMatchObject({ code: 'not_active' });
  cluster.answer?.(true);
  await first;
  cluster.isActive = true;
  cluster.isAnsweredAtOnce = true;
  await cluster.transactions.add(() => cluster.put('third', 3));
  expect([...cluster.data.keys()]).toEqual(['first', 'third']);
});

test('a batch that was run before a lapse is refused, though the lease is held again', async () => {
  const cluster = new Cluster();
  let isRun = (): void => undefined;
  const transactions = new ReplicatedTransactions({
    run: async () => {
      await new Promise<void>((resolve) => {
        isRun = resolve;
      });
      return { outcomes: [{ value: 1 }], writes: [['t', 'k', Buffer.from([1])]] };
    },
    replicator: cluster,
    soon: queueMicrotask,
  });
  const answered = expect(transactions.add(() => 1)).rejects.toMatchObject({ code: 'not_active' });
  await settled();
  // Another machine may have led, and written, meanwhile.
  cluster.lapse();
  cluster.isActive = true;
  isRun();
  await answered;
  expect(cluster.batches).toEqual([]);
});

test('the queue is bounded', async () => {
  const cluster = new Cluster();
  const all = Array.from({ length: queuedWorksMax }, () => cluster.transactions.add(() => 1));
  await expect(cluster.transactions.add(() => 1)).rejects.toMatchObject({
    code: 'overloaded',
    retryAfterSeconds: 1,
  });
  expect((await Promise.all(all)).length).toBe(queuedWorksMax);
});
