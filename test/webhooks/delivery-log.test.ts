/** The log of what was delivered, in pages, against a plain list. */
import fc from 'fast-check';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { packAttempt } from '../../src/model/attempt-record.ts';
import { positionId } from '../../src/model/ids.ts';
import type { DeliveryTables, PackedDelivered } from '../../src/store/delivery/delivery.ts';
import { openDeliveryTables } from '../../src/store/delivery/open-delivery.ts';
import {
  addToLog,
  countLog,
  findLogged,
  logEntries,
  pruneLog,
  removePages,
  unpackDelivered,
} from '../../src/webhooks/deliveries/delivery-log.ts';
import { temporaryFolder } from '../store/temporary-management.ts';
import { StoredBytes } from '../support/stored-bytes.ts';

const endpointNo = 7;
const all = 1_000_000;

const idOf = (no: number): string => positionId('dlv', 1_000_000, 0, no);
const entryOf = (no: number, bytes = 5): PackedDelivered => [
  idOf(no),
  'qr.created',
  [`evt_${no}`],
  1,
  [],
  'x'.repeat(bytes),
];
const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, at) => from + at);

class Log {
  readonly path = join(temporaryFolder(), 'delivery.mdb');
  readonly tables: DeliveryTables = openDeliveryTables(this.path, 'create');

  get log(): DeliveryTables['log'] {
    return this.tables.log;
  }

  add(nos: readonly number[], { keptMax = all, bytes = 5, of = endpointNo } = {}): number {
    return this.#transaction(() =>
      addToLog(
        this.log,
        of,
        nos.map((no) => entryOf(no, bytes)),
        keptMax,
      ),
    );
  }

  prune(keptMax: number): number {
    return this.#transaction(() =>
      pruneLog(this.log, endpointNo, countLog(this.log, endpointNo), keptMax),
    );
  }

  removePages(limit: number): number {
    return this.#transaction(() => removePages(this.log, endpointNo, limit));
  }

  /** Newest first. */
  nos(beforeNo?: number): number[] {
    const before = beforeNo === undefined ? [] : [idOf(beforeNo)];
    return Array.from(logEntries(this.log, endpointNo, ...before), noOf);
  }

  get pages(): ReadonlyArray<readonly [first: string, last: string, entries: number]> {
    return Array.from(
      this.log.keys({ start: [endpointNo, '', '', 0], end: [endpointNo + 1, '', '', 0] }),
      ([, first, last, entries]) => [first, last, entries] as const,
    );
  }

  #transaction<T>(work: () => T): T {
    const result = this.tables.environment.transactionSync(work);
    this.tables.environment.refresh();
    return result;
  }
}

const noOf = ([, , [eventId]]: PackedDelivered): number => Number(eventId?.slice(4));

function openLog(): Log {
  const log = new Log();
  onTestFinished(async () => await log.tables.environment.close());
  return log;
}

describe('a window', () => {
  it('is added to the newest page while both are small, else begins its own', () => {
    const log = openLog();
    expect(log.add([3, 1, 2])).toBe(3);
    expect(log.add([4, 5])).toBe(2);
    expect(log.pages).toEqual([[idOf(1), idOf(5), 5]]);
    expect(log.add(range(6, 18))).toBe(12);
    expect(log.add([18])).toBe(1);
    expect(log.pages.map(([, , entries]) => entries)).toEqual([5, 12, 1]);
    expect(log.nos()).toEqual(range(1, 19).toReversed());
  });

  it('of any size becomes pages of bounded entries and bytes', () => {
    const log = openLog();
    expect(log.add(range(0, 1_000))).toBe(1_000);
    expect(Math.max(...log.pages.map(([, , entries]) => entries))).toBe(32);
    expect(log.add(range(1_000, 1_020), { bytes: 65_000 })).toBe(20);
    expect(log.pages.slice(-10).map(([, , entries]) => entries)).toEqual(Array(10).fill(2));
    expect(log.nos()).toEqual(range(0, 1_020).toReversed());
  });

  it('adds no more than is kept, the newest of them', () => {
    const log = openLog();
    expect(log.add(range(0, 50), { keptMax: 20 })).toBe(20);
    expect(log.nos()).toEqual(range(30, 50).toReversed());
  });

  it('stays apart from other endpoints', () => {
    const log = openLog();
    for (const other of [endpointNo - 1, endpointNo + 1]) log.add([1, 2, 3], { of: other });
    log.add([2]);
    expect(log.nos()).toEqual([2]);
    expect(log.nos(2)).toEqual([]);
    expect(countLog(log.log, endpointNo)).toBe(1);
    expect(log.prune(0)).toBe(1);
    expect(countLog(log.log, endpointNo + 1)).toBe(3);
    expect(findLogged(log.log, endpointNo - 1, idOf(3))?.[0]).toBe(idOf(3));
  });
});

describe('a late one', () => {
  it('is put where its id belongs, in order', () => {
    const log = openLog();
    log.add([10, 20, 30]);
    log.add(range(40, 60).filter((no) => no !== 45));
    expect(log.add([5, 15, 35, 45])).toBe(4);
    expect(log.nos()).toEqual([5, 10, 15, 20, 30, 35, ...range(40, 60)].sort((a, b) => b - a));
  });

  it('that is there already is replaced', () => {
    const log = openLog();
    log.add([10, 20, 30]);
    expect(log.add([20], { bytes: 9 })).toBe(0);
    expect(log.nos()).toEqual([30, 20, 10]);
    expect(findLogged(log.log, endpointNo, idOf(20))?.[5]).toHaveLength(9);
  });

  it('writes its page once, whatever comes late with it, and does not make it grow', () => {
    const log = openLog();
    log.add(range(0, 100).map((no) => no * 100));
    const put = vi.spyOn(log.log, 'put');
    log.add(range(0, 9_900).filter((no) => no % 100 !== 0));
    expect(put).toHaveBeenCalledTimes(Math.ceil(9_901 / 64));
    expect(Math.max(...log.pages.map(([, , entries]) => entries))).toBe(64);
    expect(log.nos()).toHaveLength(9_901);
  });
});

describe('pruning', () => {
  it('takes whole pages, the oldest, while the others hold enough', () => {
    const log = openLog();
    for (let from = 0; from < 100; from += 20) log.add(range(from, from + 20));
    expect(log.prune(61)).toBe(20);
    expect(log.prune(60)).toBe(20);
    expect(log.prune(60)).toBe(0);
    expect(log.nos()).toEqual(range(40, 100).toReversed());
  });

  it('keeps up with windows of large bodies', () => {
    const log = openLog();
    for (let from = 0; from < 600; from += 200) {
      log.add(range(from, from + 200), { bytes: 65_536, keptMax: 20 });
      log.prune(20);
    }
    expect(log.nos()).toEqual(range(580, 600).toReversed());
  });

  it('of a deleted endpoint takes all, so many pages at a time', () => {
    const log = openLog();
    for (let from = 0; from < 100; from += 20) log.add(range(from, from + 20));
    log.add([1], { of: endpointNo + 1 });
    expect([log.removePages(3), log.removePages(3), log.removePages(3)]).toEqual([3, 2, 0]);
    expect(log.nos()).toEqual([]);
    expect(countLog(log.log, endpointNo + 1)).toBe(1);
  });
});

describe('a damaged page', () => {
  async function damaged(at: number): Promise<Log> {
    const log = openLog();
    for (let from = 0; from < 20; from += 5) {
      // Pages that stay apart.
      log.tables.environment.transactionSync(() => {
        const page = range(from, from + 5).map((no) => entryOf(no));
        log.log.put([endpointNo, idOf(from), idOf(from + 4), 5], page);
      });
    }
    const stored = new StoredBytes(log.path);
    stored.flip('delivered', stored.keys('delivered')[at]!, 77);
    await stored.close();
    log.tables.environment.refresh();
    return log;
  }

  it('is passed over by lists and look-ups', async () => {
    const log = await damaged(1);
    expect(log.nos()).toEqual([...range(0, 5), ...range(10, 20)].toReversed());
    expect(findLogged(log.log, endpointNo, idOf(7))).toBeUndefined();
    expect(findLogged(log.log, endpointNo, idOf(12))?.[0]).toBe(idOf(12));
  });

  it('counts as empty where something is added to it', async () => {
    const newest = await damaged(3);
    expect(newest.add([30])).toBe(1 - 5);
    expect(newest.nos()).toEqual([30, ...range(0, 15).toReversed()]);
    expect(countLog(newest.log, endpointNo)).toBe(16);
    const late = await damaged(0);
    expect(late.add([2])).toBe(1 - 5);
    expect(late.nos()).toEqual([...range(5, 20).toReversed(), 2]);
    expect(countLog(late.log, endpointNo)).toBe(16);
  });
});

it('gives back what is delivered', () => {
  const attempt = { atMs: 5, durationMs: 1.5, status: 204, remoteIp: '203.0.113.9', answer: 'ok' };
  const packed = [idOf(3), 'qr.created', ['evt_3'], 30, [packAttempt(attempt)], '{"ü":1}'] as const;
  expect(unpackDelivered(packed, 4, 5)).toMatchObject({
    id: idOf(3),
    kind: 'qr.created',
    eventIds: ['evt_3'],
    body: '{"ü":1}',
    endpointNo: 4,
    workspaceNo: 5,
    state: 'delivered',
    attemptsMade: 30,
    attempts: [attempt],
    place: undefined,
  });
});

it('is what a plain list is, whatever comes in whatever order', async () => {
  const no = fc.integer({ min: 0, max: 3_000 });
  const act = fc.oneof(
    { weight: 4, arbitrary: fc.record({ late: fc.uniqueArray(no, { maxLength: 40 }) }) },
    { weight: 4, arbitrary: fc.record({ behind: fc.integer({ min: 0, max: 300 }) }) },
    { weight: 2, arbitrary: fc.record({ keep: fc.integer({ min: 0, max: 400 }) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 25 }), async (acts) => {
      const log = new Log();
      try {
        let model: number[] = [];
        let next = 3_001;
        for (const one of acts) {
          if ('keep' in one) {
            const pruned = log.prune(one.keep);
            expect(model.length - pruned).toBeGreaterThanOrEqual(Math.min(one.keep, model.length));
            model = model.slice(pruned);
          } else {
            const added = 'late' in one ? one.late : range(next, (next += one.behind));
            const before = model.length;
            model = [...new Set([...model, ...added])].sort((a, b) => a - b);
            expect(log.add(added)).toBe(model.length - before);
          }
          expect(log.nos()).toEqual(model.toReversed());
          expect(countLog(log.log, endpointNo)).toBe(model.length);
          const { pages } = log;
          for (const [at, [first, last]] of pages.entries()) {
            expect(first <= last && last < (pages[at + 1]?.[0] ?? '~')).toBe(true);
          }
        }
        for (const at of [0, 1_500, 3_000, 3_200, ...model.slice(0, 5)]) {
          expect(findLogged(log.log, endpointNo, idOf(at)) !== undefined).toBe(model.includes(at));
          expect(log.nos(at)).toEqual(model.filter((one) => one < at).toReversed());
        }
      } finally {
        await log.tables.environment.close();
      }
    }),
    { numRuns: 40 },
  );
});
