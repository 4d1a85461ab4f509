/** Numbers that another file has seen are not given out again: states as a loss of power or a put-back file leaves them. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { raiseNumbers } from '../../../src/app/folder/numbers.ts';
import { Journals, journalsIn } from '../../../src/engine/journal/journals.ts';
import { partitionCount } from '../../../src/model/code.ts';
import type { EndpointRecord } from '../../../src/model/webhook.ts';
import { type DeliveryTables, openDeliveryTables } from '../../../src/store/delivery/delivery.ts';
import { type Management, openManagement } from '../../../src/store/management/management.ts';
import { openScanStore, type ScanStore, workspaceCounter } from '../../../src/store/scans/scans.ts';
import { createLog } from '../../../src/platform/log.ts';
import { endpointOf } from '../../webhooks/feeds/reader-checks.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';
import { memoryDisk } from './memory-disk.ts';

let folder: string;
let management: Management;
let scans: ScanStore;
let delivery: DeliveryTables;
let lines: string[];
const log = createLog('info', { write: (line) => void lines.push(line) });
const logged = () => lines.map((line) => JSON.parse(line));

beforeEach(() => {
  folder = temporaryFolder(memoryDisk);
  management = openManagement(join(folder, 'management.mdb'), 'create');
  scans = openScanStore(join(folder, 'scans.mdb'), 'create');
  delivery = openDeliveryTables(join(folder, 'delivery.mdb'), 'create');
  lines = [];
});
afterEach(async () => {
  await management.close();
  await scans.environment.close();
  await delivery.environment.close();
});

test('each goes on above what the others have seen, with a warning, once', () => {
  management.environment.transactionSync(() => {
    management.meta.put('next:code', 5);
    management.meta.put('next:event', 30);
  });
  scans.environment.transactionSync(() => {
    scans.summaries.put(7, Buffer.alloc(8));
    scans.summaries.put(workspaceCounter(3), Buffer.alloc(8));
    scans.meta.put('sequence', 11);
  });
  delivery.environment.transactionSync(() => {
    delivery.positions.put('events', [40, 0]);
    delivery.positions.put('scans', [12, 3]);
    const counts = { pending: 0, delivered: 0, dead: 0, canceled: 0 };
    delivery.stats.put(6, { counts, failuresInRow: 0 });
  });
  raiseNumbers({ management, scans, delivery }, log);
  const next = (['code', 'workspace', 'event', 'endpoint'] as const).map((name) =>
    management.environment.transactionSync(() => management.next(name)),
  );
  expect(next).toEqual([8, 4, 41, 7]);
  expect(scans.meta.get('sequence')).toBe(13);
  expect(logged()).toMatchObject([
    { level: 'warn', number: 'code', from: 4, to: 7 },
    { level: 'warn', number: 'workspace', from: 0, to: 3 },
    { level: 'warn', number: 'event', from: 29, to: 40 },
    { level: 'warn', number: 'endpoint', from: 0, to: 6 },
    { level: 'warn', number: 'block', from: 11, to: 13 },
  ]);
  lines = [];
  raiseNumbers({ management, scans, delivery }, log);
  expect(logged()).toEqual([]);
});

test('blocks go on above those that an endpoint was enabled, disabled, subscribed or given another list length at', () => {
  const endpoint = endpointOf({ no: 1, firstBlock: 3 });
  const from = { event: 1, block: 5 };
  const states: Array<readonly [seen: number, Partial<EndpointRecord>]> = [
    [3, {}],
    [6, { since: { 'qr.scanned': { event: 1, block: 6 } } }],
    [7, { pauses: [{ from, to: { event: 1, block: 7 } }, { from }] }],
    [8, { pauses: [{ from }, { from: { event: 1, block: 8 } }] }],
    [9, { batches: [{ upTo: 9, maxBatch: 10 }] }],
  ];
  for (const [seen, state] of states) {
    management.environment.transactionSync(() =>
      management.webhooks.endpoints.put(1, { ...endpoint, ...state }),
    );
    raiseNumbers({ management, scans, delivery }, log);
    expect(scans.meta.get('sequence')).toBe(seen);
  }
});

test('a journal that has lost what was counted is named in the log, and keeps its position', () => {
  const root = join(folder, 'journal');
  mkdirSync(join(root, '0'), { recursive: true });
  writeFileSync(join(root, '0', '0000000000000100.log'), '');
  scans.environment.transactionSync(() => {
    for (let partition = 0; partition < partitionCount; partition++) {
      scans.watermarks.put(partition, 500);
      // Of a thread that is no longer configured, with no folder left.
      scans.watermarks.put(3 * partitionCount + partition, 900);
    }
  });
  const open = () => new Journals({ root, threads: 1, known: journalsIn(scans), log });
  const journals = open();
  expect(Object.fromEntries(journals.missingBytes)).toEqual({ 0: 400, 3: 900 });
  expect(logged()).toMatchObject([
    { level: 'error', journal: 0, endsAt: 100, countedTo: 500, missingBytes: 400 },
    { level: 'error', journal: 3, endsAt: 0, countedTo: 900, missingBytes: 900 },
  ]);
  expect(journals.recover(0)).toBe(500);
  expect(readdirSync(join(root, '3'))).toEqual(['0000000000000900.log']);
  expect(open().missingBytes.size).toBe(0);
});
