/** Numbers that another file has seen are not given out again: states as a loss of power or a put-back file leaves them. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { raiseNumbers } from '../../../src/engine/installation/numbers.ts';
import { CountedJournals } from '../../../src/engine/journals.ts';
import { partitionCount } from '../../../src/model/code.ts';
import type { EndpointRecord } from '../../../src/model/webhook.ts';
import type { DeliveryTables } from '../../../src/store/delivery/delivery.ts';
import { openDeliveryTables } from '../../../src/store/delivery/open-delivery.ts';
import {
  linkBlockOf,
  type StoredLink,
  withLink,
} from '../../../src/store/management/link-blocks.ts';
import { type Management, openManagement } from '../../../src/store/management/management.ts';
import { openScanStore, type ScanStore, workspaceCounter } from '../../../src/store/scans/scans.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';
import { memoryDisk } from '../memory-disk.ts';

let folder: string;
let management: Management;
let scans: ScanStore;
let delivery: DeliveryTables;
let lines: string[];
const log = createLog('info', { write: (line) => void lines.push(line) });
const logged = () => lines.map((line) => JSON.parse(line));

beforeEach(() => {
  folder = mkdtempSync(join(memoryDisk, 'quietzone-numbers-'));
  management = openManagement(join(folder, 'management.mdb'), 'create');
  scans = openScanStore(join(folder, 'scans.mdb'), 'create');
  delivery = openDeliveryTables(join(folder, 'delivery.mdb'), 'create');
  lines = [];
});
afterEach(async () => {
  await management.close();
  await scans.environment.close();
  await delivery.environment.close();
  rmSync(folder, { recursive: true });
});

const stats = {
  counts: { pending: 0, delivered: 0, dead: 0, canceled: 0 },
  failuresInRow: 0,
};

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
    delivery.stats.put(6, stats);
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
  const endpoint: EndpointRecord = {
    no: 1,
    id: 'whk_00000000000000000000',
    workspaceNo: 1,
    url: 'https://example.com/',
    events: ['*'],
    maxBatch: 100,
    secrets: [],
    status: 'enabled',
    firstEvent: 0,
    firstBlock: 3,
    createdAtMs: 0,
    updatedAtMs: 0,
    createdBy: 'usr_00000000000000000000',
  };
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

test('a number whose record is damaged is found again from what it was given to', async () => {
  const link: Omit<StoredLink, 'codeNo'> = {
    key: 'ABC',
    workspaceNo: 1,
    target: 'https://example.com/',
    expiresAtMs: 0,
    scanLimit: undefined,
    state: 'deleted',
  };
  management.environment.transactionSync(() => {
    management.meta.put('next:code', 21);
    management.meta.put('next:edit', 65_540);
    // The codes themselves were removed: the link stays.
    management.links.put(linkBlockOf(20), withLink(undefined, { ...link, codeNo: 20 }));
    management.codeEdits.put(1, [65_537, 1, 5, 20]);
    management.codeEdits.put(3, [65_539, 1, 6, 20]);
    management.meta.put('next:journal', 10);
    const past = [{ journals: [8, 9], run: 1 }];
    const node = { id: 'n_1', name: 'a', role: 'all', journals: [3], run: 2, past } as const;
    management.cluster.nodes.put('a', { ...node, joinedAtMs: 1 });
  });
  await management.close();
  const stored = new StoredBytes(join(folder, 'management.mdb'));
  for (const key of stored.keys('meta')) {
    if (key.includes('next:')) stored.flip('meta', key, 77);
  }
  await stored.close();
  management = openManagement(join(folder, 'management.mdb'));
  expect(() => management.last('code')).toThrow('damaged');

  raiseNumbers({ management, scans, delivery }, log);
  // Of a block the highest that it may have.
  expect([management.last('code'), management.last('edit')]).toEqual([31, 65_539]);
  expect(management.last('journal')).toBe(9);
  expect(logged()).toMatchObject([
    { level: 'warn', number: 'code', to: 31 },
    { level: 'warn', number: 'edit', to: 65_539 },
    { level: 'warn', number: 'journal', to: 9 },
  ]);
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
  const journals = new CountedJournals(scans, { root, threads: 1, log });
  expect([...journals.missingBytes].toSorted(([one], [other]) => one - other)).toEqual([
    [0, 400],
    [3, 900],
  ]);
  expect(logged()).toMatchObject([
    { level: 'error', journal: 0, endsAt: 100, countedTo: 500, missingBytes: 400 },
    { level: 'error', journal: 3, endsAt: 0, countedTo: 900, missingBytes: 900 },
  ]);
  expect(journals.recover(0)).toBe(500);
  expect(readdirSync(join(root, '3'))).toEqual(['0000000000000900.log']);
  expect(new CountedJournals(scans, { root, threads: 1, log }).missingBytes.size).toBe(0);
});
