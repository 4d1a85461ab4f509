/** The log of what was delivered, against a plain list. */
import fc from 'fast-check';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { positionId } from '../../src/model/ids.ts';
import {
  type DeliveryTables,
  openDeliveryTables,
  type PackedDelivered,
} from '../../src/store/delivery/delivery.ts';
import {
  addToLog,
  countLog,
  findLogged,
  logEntries,
  pruneLog,
} from '../../src/webhooks/deliveries/delivery-log.ts';
import { temporaryFolder } from '../store/temporary-management.ts';
import { StoredBytes } from '../support/stored-bytes.ts';

const endpointNo = 7;
const all = 1_000_000;

const idOf = (no: number): string => positionId('dlv', 1_000_000, 0, no);
const entryOf = (no: number): PackedDelivered => [
  idOf(no),
  'qr.created',
  [`evt_${no}`],
  1,
  [],
  '{}',
];
const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, at) => from + at);

class Log {
  readonly path = join(temporaryFolder(), 'delivery.mdb');
  tables: DeliveryTables = openDeliveryTables(this.path, 'create');

  get log(): DeliveryTables['log'] {
    return this.tables.log;
  }

  add(nos: readonly number[], { keptMax = all, of = endpointNo } = {}): number {
    return this.#transaction(() => addToLog(this.log, of, nos.map(entryOf), keptMax));
  }

  prune(keptMax: number): number {
    return this.#transaction(() =>
      pruneLog(this.log, endpointNo, Math.max(0, countLog(this.log, endpointNo) - keptMax)),
    );
  }

  /** Newest first. */
  nos(beforeNo?: number): number[] {
    const before = beforeNo === undefined ? [] : [idOf(beforeNo)];
    return Array.from(logEntries(this.log, endpointNo, ...before), noOf);
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

it('adds no more than is kept, the newest of them', () => {
  const log = openLog();
  expect(log.add(range(0, 50), { keptMax: 20 })).toBe(20);
  expect(log.nos()).toEqual(range(30, 50).toReversed());
});

it('passes over a damaged entry, and replaces it', async () => {
  const log = openLog();
  log.add(range(0, 5));
  await log.tables.environment.close();
  const stored = new StoredBytes(log.path);
  stored.flip('delivered', stored.keys('delivered')[2]!, 77);
  await stored.close();
  log.tables = openDeliveryTables(log.path);
  expect(log.nos()).toEqual([4, 3, 1, 0]);
  expect(findLogged(log.log, endpointNo, idOf(2))).toBeUndefined();
  expect(log.add([2])).toBe(0);
  expect(log.nos()).toEqual([4, 3, 2, 1, 0]);
});

it('is what a plain list is, whatever comes in whatever order', async () => {
  const no = fc.integer({ min: 0, max: 3_000 });
  const act = fc.oneof(
    { weight: 4, arbitrary: fc.record({ late: fc.uniqueArray(no, { maxLength: 40 }) }) },
    { weight: 4, arbitrary: fc.record({ behind: fc.integer({ min: 0, max: 300 }) }) },
    { weight: 2, arbitrary: fc.record({ keep: fc.integer({ min: 0, max: 400 }) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 25, size: 'max' }), async (acts) => {
      const log = new Log();
      const others = [endpointNo - 1, endpointNo + 1];
      try {
        for (const of of others) log.add([1, 2, 3], { of });
        let model: number[] = [];
        let next = 3_001;
        for (const one of acts) {
          if ('keep' in one) {
            expect(log.prune(one.keep)).toBe(Math.max(0, model.length - one.keep));
            model = model.slice(Math.max(0, model.length - one.keep));
          } else {
            const added = 'late' in one ? one.late : range(next, (next += one.behind));
            const before = model.length;
            model = [...new Set([...model, ...added])].sort((a, b) => a - b);
            expect(log.add(added)).toBe(model.length - before);
          }
          expect(log.nos()).toEqual(model.toReversed());
          expect(countLog(log.log, endpointNo)).toBe(model.length);
        }
        for (const at of [0, 1_500, 3_000, 3_200, ...model.slice(0, 5)]) {
          expect(findLogged(log.log, endpointNo, idOf(at)) !== undefined).toBe(model.includes(at));
          expect(log.nos(at)).toEqual(model.filter((one) => one < at).toReversed());
        }
        for (const of of others) expect(countLog(log.log, of)).toBe(3);
      } finally {
        await log.tables.environment.close();
      }
    }),
    { numRuns: 15 },
  );
});
