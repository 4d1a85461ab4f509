/** A replicated environment against a model of it, and against one that only replays its log. */
import { setImmediate as cycle } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createRandom } from '../../bench/random.ts';
import { Failure } from '../../src/model/failure.ts';
import type { TableKey } from '../../src/store/environment.ts';
import { batchWorksMax, queuedWorksMax } from '../../src/store/replicated-transactions.ts';
import {
  expectSameReplica,
  type Log,
  nameOfKey,
  notActive,
  replicatedStore,
  type Store,
} from './replicated-store.ts';

type TableName = keyof Store['tables'];

const pick = <T>(random: () => number, of: readonly T[]): T => of[random() % of.length]!;

const oddNumbers = [1, -1, 0.5, -7.25, 2 ** 40, -(2 ** 40)];
const keysOf: Readonly<Record<TableName, readonly TableKey[]>> = {
  any: ['a', 'ä', 'k'.repeat(500), ...oddNumbers, [1, 'a'], ['a', [-2.5, 'b'], 9]],
  numbers: [0, 1, 2, 3, 255, 256, 65_536, 2 ** 32 - 1],
  bytes: [1, 2, 3, 4].flatMap((n) => [new Uint8Array([n]), new Uint8Array([n, 0, 255])]),
  texts: ['x', 'y', ['z', 1]],
  set: [[1, 'a'], [2, 'a'], [2, 'b'], 'alone'],
  meta: ['schema', 'other'],
};

const valueOf: Readonly<Record<TableName, (random: () => number) => unknown>> = {
  any: (random) =>
    pick<unknown>(random, [random(), `text ${random()}`, { a: [random(), null] }, -0.5]),
  numbers: (random) => new Uint8Array(random() % 40).fill(random()),
  bytes: (random) => random(),
  texts: (random) => 't'.repeat(random() % 30),
  set: () => 1,
  meta: (random) => random(),
};

/** 2,000 find no more, at four times the time. */
const batches = 200;

const names = Object.keys(keysOf) as TableName[];
const plain = (value: unknown): unknown => (value instanceof Uint8Array ? [...value] : value);

/** Records by table and key. */
type Model = Map<string, unknown>;
const nameOf = (name: TableName, key: TableKey): string => `${name} ${nameOfKey(key)}`;

/** Some reads and writes, in the tables and in a model of them; now and then it throws midway. */
function randomWork(random: () => number, tables: Store['tables'], own: Model): void {
  for (let left = random() % 4; left >= 0; left--) {
    const name = pick(random, names);
    const key = pick(random, keysOf[name]);
    expect(plain(tables[name].get(key))).toEqual(own.get(nameOf(name, key)));
    if (random() % 3 === 0) {
      tables[name].remove(key);
      own.delete(nameOf(name, key));
    } else {
      const value = valueOf[name](random);
      tables[name].put(key, value);
      own.set(nameOf(name, key), plain(value));
    }
  }
  for (const name of ['numbers', 'bytes'] as const) {
    const expected = keysOf[name].filter((key) => own.has(nameOf(name, key))).map(nameOfKey);
    expect(Array.from(tables[name].range({}), ({ key }) => nameOfKey(key))).toEqual(expected);
  }
  if (random() % 5 === 0) throw new Failure('conflict', 'midway');
}

test('random works, in batches that the log takes, delays and refuses, leave what a model and a replica have', async () => {
  const { store, log, replica } = replicatedStore();
  const random = createRandom(0x5ea3);
  let model: Model = new Map();
  /** With what the works of the running batch wrote; a batch begins with a check. */
  let trial: Model | undefined;
  log.onCheck = () => {
    trial = undefined;
  };
  const expectModel = (name: TableName, key: TableKey): void => {
    expect(plain(store.tables[name].get(key))).toEqual(model.get(nameOf(name, key)));
  };
  log.gate = () => {
    // What a batch wrote is not seen while the log has not taken it.
    const name = pick(random, names);
    expectModel(name, pick(random, keysOf[name]));
    const kind = random() % 8;
    if (kind === 0) throw notActive();
    return kind < 4 ? cycle() : undefined;
  };
  const work = (): void => {
    trial ??= new Map(model);
    const own = new Map(trial);
    randomWork(random, store.tables, own);
    trial = own;
  };

  let refused = 0;
  for (let batch = 0; batch < batches; batch++) {
    const calls = Array.from({ length: 1 + (random() % 4) }, () =>
      store.environment.transaction(work),
    );
    const before = log.entries.length;
    const outcomes = await Promise.allSettled(calls);
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') continue;
      expect(outcome.reason).toBeInstanceOf(Failure);
      if ((outcome.reason as Failure).code === 'not_active') refused++;
    }
    // All of a batch that the log took, nothing of another.
    const isTaken = log.entries.length > before;
    expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(isTaken);
    if (isTaken && trial !== undefined) model = trial;
    const name = pick(random, names);
    expectModel(name, pick(random, keysOf[name]));
  }

  expect(refused).toBeGreaterThan(batches / 20);
  for (const name of names) {
    for (const key of keysOf[name]) expectModel(name, key);
  }
  await expectSameReplica(store, log, replica);
});

test('a large value, and a key in a buffer that is used again, are applied as they were put', async () => {
  const { store, log, replica } = replicatedStore();
  const { any, numbers, bytes } = store.tables;
  const key = new Uint8Array([7, 0, 9]);
  const large = new Uint8Array(5_000_000).fill(5);
  await store.environment.transaction(() => {
    any.put(-0, [undefined, null]);
    numbers.put(1, large);
    bytes.put(key, 'binary');
    key.fill(255);
  });
  expect(Buffer.compare(numbers.get(1) as Uint8Array, large)).toBe(0);
  expect([any.has(-0), bytes.get(new Uint8Array([7, 0, 9]))]).toEqual([true, 'binary']);
  await expectSameReplica(store, log, replica);
});

test('a batch ends at 512 KB, and its works are answered in their order', async () => {
  const { store, log } = replicatedStore();
  const { numbers } = store.tables;
  const order: number[] = [];
  const add = async (size: number, at: number): Promise<void> => {
    await store.environment.transaction(() => numbers.put(at, new Uint8Array(size)));
    order.push(at);
  };
  const small = Array.from({ length: 600 }, () => 10);
  await Promise.all([300_000, 300_000, 300_000, 2_000_000, ...small].map(add));
  // What a batch has left comes before what it was not offered.
  expect(log.entries.map(({ length }) => length)).toEqual([2, 2, 500, 100]);
  expect(order).toEqual([...order.keys()]);
});

test('a work that returns a promise is refused and leaves nothing, also what it writes later', async () => {
  const { store, log } = replicatedStore();
  const { any, set } = store.tables;
  const asynchronous = async (): Promise<void> => {
    any.put('early', 1);
    await cycle();
    any.put('late', 1);
  };
  let end: Promise<void> | undefined;
  const refused = store.environment.transaction(() => {
    end = asynchronous();
    end.catch(() => undefined);
    return end;
  });
  const other = store.environment.transaction(() => any.put('other', 1));
  await expect(refused).rejects.toThrow('returned a promise');
  await expect(end).rejects.toThrow('no transaction runs');
  await other;
  expect(log.entries).toHaveLength(1);
  expect(['early', 'late', 'other'].map((key) => any.get(key))).toEqual([undefined, undefined, 1]);
  expect(() => set.remove('outside')).toThrow('no transaction runs');
});

test('a transaction within a work is one of its own, after it', async () => {
  const { store, log } = replicatedStore();
  const { any } = store.tables;
  let inner: Promise<unknown> | undefined;
  const outer = store.environment.transaction(() => {
    inner = store.environment.transaction(() => any.get('outer'));
    any.put('outer', 1);
  });
  await outer;
  expect(await inner).toBe(1);
  expect(log.entries).toHaveLength(1);
});

test('what would bypass the log throws: a synchronous transaction, a cleared table, a second replicator', async () => {
  const { store, log } = replicatedStore();
  const { environment, tables } = store;
  expect(() => environment.transactionSync(() => tables.any.put('a', 1))).toThrow('is replicated');
  expect(() => environment.replicateWith(log)).toThrow('is replicated');
  for (const bypass of [() => environment.clear('any'), () => environment.transactionSync(() => 1)])
    await expect(environment.transaction(bypass)).rejects.toThrow('is replicated');
  // A trial is undone, and an apply in it would be.
  let applied: Promise<void> | undefined;
  await environment.transaction(() => {
    applied = store.replay([], 9);
    applied.catch(() => undefined);
  });
  await expect(applied).rejects.toThrow('within a transaction');
  expect([log.entries.length, store.position]).toEqual([0, 0]);
});

test('applyWrites commits all or nothing, fires, mends what was damaged, and is read at once', async () => {
  const { store, log, replica } = replicatedStore();
  await store.environment.transaction(() => store.tables.any.put('a', 1));
  const writes = log.entries[0]!;
  const { environment, tables } = replica;
  let fired = 0;
  environment.committed.listen(() => fired++);
  environment.damage.note('any', 'a', () => false);
  expect(tables.any.get('a')).toBeUndefined();

  await expect(replica.replay([...writes, ['gone', 1]], 1)).rejects.toThrow('no table gone');
  const failing = environment.applyWrites(writes, () => {
    throw new Error('no position');
  });
  await expect(failing).rejects.toThrow('no position');
  expect([tables.any.has('a'), replica.position, fired]).toEqual([false, 0, 0]);

  await replica.replay(writes, 1);
  expect([tables.any.get('a'), replica.position, fired]).toEqual([1, 1, 1]);
  expect(environment.damage.records).toEqual([]);
});

/** Of two transactions one waits for the log until `open` is called, the other behind it. */
async function oneAtTheLog({ environment, tables }: Store, log: Log) {
  const gate = Promise.withResolvers<void>();
  log.gate = async () => await gate.promise;
  const running = environment.transaction(() => tables.any.put('running', 1));
  while (log.isIdle) await cycle();
  const queued = environment.transaction(() => tables.any.put('queued', 1));
  return { open: gate.resolve, running, queued };
}

test('what waits when an environment closes is refused, and a commit that comes later is not done here', async () => {
  const { store, log } = replicatedStore();
  const { environment } = store;
  const { open, running, queued } = await oneAtTheLog(store, log);
  const closing = environment.close();
  await expect(queued).rejects.toMatchObject({ code: 'not_active' });
  await closing;
  open();
  await expect(running).rejects.toThrow(/closed/i);
});

const refused = { code: 'not_active' };

test('what waits is one batch up to its bound, answered in its order', async () => {
  const { store, log } = replicatedStore();
  const order: number[] = [];
  const add = async (value: number): Promise<void> => {
    await store.environment.transaction(() => store.tables.any.put('key', value));
    order.push(value);
  };
  await Promise.all(Array.from({ length: 2 * batchWorksMax + 7 }, (_, at) => add(at)));
  expect(log.entries.map(({ length }) => length)).toEqual([batchWorksMax, batchWorksMax, 7]);
  expect(order).toEqual([...order.keys()]);
});

test('transactions in the continuation of others end, in any depth and number', async () => {
  const { store, log } = replicatedStore();
  const chain = async (depth: number): Promise<number> => {
    await store.environment.transaction(() => store.tables.any.put(depth, depth));
    if (depth === 0) return 1;
    const counts = await Promise.all([chain(depth - 1), chain(depth - 1)]);
    return counts[0] + counts[1];
  };
  expect(await chain(7)).toBe(128);
  expect(log.entries).toHaveLength(8);
});

test('a batch that wrote nothing asks the log for nothing, and is refused when the lease is over', async () => {
  const { store, log } = replicatedStore();
  expect(await store.environment.transaction(() => 7)).toBe(7);
  const lapsing = store.environment.transaction(() => {
    log.isActive = false;
  });
  await expect(lapsing).rejects.toMatchObject(refused);
  expect(log.entries).toEqual([]);
});

test('a batch that the log refused is refused whole, and the next one knows nothing of it', async () => {
  const { store, log } = replicatedStore();
  const takeSlug = (): void => {
    if (store.tables.any.has('slug')) throw new Failure('slug_taken', 'taken');
    store.tables.any.put('slug', 1);
  };
  const both = () => Promise.allSettled([1, 2].map(() => store.environment.transaction(takeSlug)));
  log.gate = () => {
    throw notActive();
  };
  expect(await both()).toMatchObject([{ reason: refused }, { reason: refused }]);
  log.gate = () => undefined;
  const taken = { reason: { code: 'slug_taken' } };
  expect(await both()).toMatchObject([{ status: 'fulfilled' }, taken]);
});

test('a lease that is over refuses what waits at once, and what stands at the log is answered by it', async () => {
  const { store, log } = replicatedStore();
  const { environment, tables } = store;
  const { open, running, queued } = await oneAtTheLog(store, log);
  // Held all the same.
  log.lapsed.fire();
  log.lapse();
  await expect(queued).rejects.toMatchObject(refused);
  await expect(environment.transaction(() => 1)).rejects.toMatchObject(refused);
  open();
  await running;
  log.isActive = true;
  await environment.transaction(() => tables.any.put('third', 3));
  expect([...tables.any.keys({})]).toEqual(['running', 'third']);
});

test('a batch that was run before a lapse is refused, though the lease is held again', async () => {
  const { store, log } = replicatedStore();
  const run = store.environment.transaction(() => {
    store.tables.any.put('key', 1);
    // Another machine may have led, and written, meanwhile.
    log.lapse();
    log.isActive = true;
  });
  await expect(run).rejects.toMatchObject(refused);
  expect(log.entries).toEqual([]);
});

test('the queue is bounded', async () => {
  const { environment } = replicatedStore().store;
  const all = Array.from({ length: queuedWorksMax }, () => environment.transaction(() => 1));
  const overloaded = { code: 'overloaded', retryAfterSeconds: 1 };
  await expect(environment.transaction(() => 1)).rejects.toMatchObject(overloaded);
  expect(await Promise.all(all)).toHaveLength(queuedWorksMax);
});
