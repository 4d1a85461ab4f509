/** A folder whose deliveries have version 2: everything of it comes along, however its conversion ends. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { open, type RangeOptions } from 'lmdb';
import { expect, it, onTestFinished } from 'vitest';
import { openDataFolder } from '../../../src/engine/data-folder.ts';
import { verifyFolder } from '../../../src/engine/verify/verify.ts';
import { idTail } from '../../../src/model/ids.ts';
import { Signal } from '../../../src/model/signal.ts';
import { deliveryVersion, openDeliveryTables } from '../../../src/store/delivery/open-delivery.ts';
import { checksumsFromHere, openEnvironment } from '../../../src/store/open-environment.ts';
import { openScanStore } from '../../../src/store/scans/scans.ts';
import type { Delivery } from '../../../src/webhooks/deliveries/delivery.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { environmentWith } from '../../support/program.ts';
import { flipBit } from '../../store/older-data.ts';
import {
  answered,
  older,
  olderDeliveries,
  type OlderDelivery,
  unpackOlder,
} from './older-folder.ts';
import { delaysMs, type Harness, openHarness } from '../webhooks-harness.ts';

const { endpoints } = older;
const codeOf = (no: number): { id: string } => ({ id: `qr_${no}` });
const killed = new URL('migrate-killed.ts', import.meta.url).pathname;
const allOf = { limit: 500 };

async function openOlder(folder = unpackOlder()): Promise<Harness> {
  const clock = new TestClock(older.atMs);
  clock.bootId = 'another';
  const store = openScanStore(join(unpackOlder(), 'scans.mdb'));
  onTestFinished(() => store.environment.close());
  const scanned = { store, codeOf, committed: new Signal(), onDelivered: () => undefined };
  const settings = { retryDelaysMs: delaysMs.slice(0, 4) };
  const harness = await openHarness(settings, { scanned, dataDir: folder, clock, plan: 'none' });
  await harness.webhooks.recover();
  return harness;
}

/** What is stored of one: of a delivered one no times of the queue. */
const shown = (delivery: Delivery | OlderDelivery): unknown => {
  const { id, endpointNo, kind, eventIds, state, attemptsMade, attempts, body } = delivery;
  const { dueMs, tries, deadAtMs, deadReason, expiresMs } = delivery;
  const text = Buffer.from(body).toString();
  const common = { id, endpointNo, kind, eventIds, state, attemptsMade, attempts, text };
  if (state === 'delivered') return common;
  return { ...common, dueMs, tries, deadAtMs, deadReason, expiresMs };
};

const statusOf = ({ id }: OlderDelivery): number | undefined => answered.get(idTail(id));
const isWaiting = ({ state }: OlderDelivery): boolean => state === 'pending';

it('has every delivery with its id, state, attempts and bytes', async () => {
  const harness = await openOlder();
  const { deliveries } = harness.webhooks;
  for (const delivery of olderDeliveries) {
    const found = deliveries.get(1, delivery.id);
    const status = statusOf(delivery);
    if (status === undefined) expect(shown(found)).toEqual(shown(delivery));
    else {
      expect([found.state, found.attempts.map((one) => one.status)]).toEqual([
        status === 200 ? 'delivered' : 'pending',
        [status],
      ]);
      expect(Buffer.from(found.body).toString()).toBe(delivery.body);
    }
  }
  for (const { no, id, deliveries: expected, figures } of Object.values(endpoints)) {
    if (no === endpoints.removed.no) continue;
    const listed = deliveries.list(no, allOf).data.map((one) => one.id);
    expect(listed).toEqual(expected.map((one) => one.id));
    if (!expected.some((one) => statusOf(one) !== undefined)) {
      expect(deliveries.figures(no)).toEqual(figures);
    }
    expect(harness.webhooks.endpoints.get(1, id).status).toBe(
      no === endpoints.gone.no || no === endpoints.paused.no ? 'disabled' : 'enabled',
    );
  }
  const dead = deliveries.deadLetters.list(1, allOf).data;
  expect(dead.map(({ id }) => id)).toEqual(older.deadLetters);
  expect([...new Set(olderDeliveries.map(({ state }) => state))].toSorted()).toEqual([
    'canceled',
    'dead',
    'delivered',
    'pending',
  ]);
});

it('sends what waits, with the same id and bytes, and nothing that was answered', async () => {
  const harness = await openOlder();
  const { sender, time } = harness;
  await harness.webhooks.start();
  await harness.settle();
  for (const delayMs of delaysMs.slice(0, 3)) {
    time.move(delayMs * 1.2);
    await harness.settle();
  }
  const sent = new Map(sender.sent.map((task) => [task.deliveryId, task]));
  expect(sent.size).toBe(sender.sent.length);
  for (const delivery of olderDeliveries) {
    const status = statusOf(delivery);
    const task = sent.get(delivery.id);
    sent.delete(delivery.id);
    if (!isWaiting(delivery) || status === 200) expect(task).toBe(undefined);
    else {
      expect([task?.text, task?.eventId]).toEqual([delivery.body, delivery.eventIds[0]]);
      expect(task?.attempt).toBe(delivery.attemptsMade + (status === undefined ? 1 : 2));
    }
  }
  // What nobody had read: to those who listen and are enabled.
  const fresh = [...sent.values()];
  const { healthy, failing, dying, scans } = endpoints;
  for (const { no } of [healthy, failing, dying]) {
    const own = fresh.filter(({ endpointNo, kind }) => endpointNo === no && kind === 'qr.deleted');
    expect(own.map(({ eventId }) => eventId)).toEqual(older.unread);
  }
  const scanned = fresh.filter(({ kind }) => kind === 'qr.scanned');
  const scannedTo = (no: number): number =>
    scanned.filter(({ endpointNo }) => endpointNo === no).length;
  expect([scanned.length, scannedTo(healthy.no), scannedTo(scans.no)]).toEqual([4, 2, 2]);
  expect(fresh.length).toBe(3 * older.unread.length + scanned.length);
  const states = Object.values(endpoints).map(({ no }) =>
    harness.webhooks.deliveries.count(no, 'pending'),
  );
  expect(states).toEqual(states.map(() => 0));
});

it('replays the dead letters', async () => {
  const harness = await openOlder();
  const { deadLetters } = harness.webhooks.deliveries;
  const range = { fromMs: 0, beforeMs: older.atMs + 1 };
  const { paused, dying } = endpoints;
  const deadOf = (no: number): OlderDelivery[] =>
    olderDeliveries.filter(({ endpointNo, state }) => endpointNo === no && state === 'dead');
  expect([deadOf(dying.no).length, deadOf(paused.no).length]).toEqual([2, 30]);
  // Those of a disabled endpoint stay.
  expect(await deadLetters.replayRange(1, range)).toBe(2);
  await harness.webhooks.endpoints.change(1, paused.id, { status: 'enabled' });
  expect(await deadLetters.replayRange(1, { ...range, endpointNo: paused.no })).toBe(30);
  await harness.settle();
  const sent = new Map(harness.sender.sent.map(({ deliveryId, text }) => [deliveryId, text]));
  for (const { id, body } of [...deadOf(dying.no), ...deadOf(paused.no)]) {
    expect(sent.get(id)).toBe(body);
    expect(harness.webhooks.deliveries.get(1, id).state).toBe('delivered');
  }
});

it('leaves a damaged row where it is, and verify names it', async () => {
  const folder = unpackOlder();
  const file = join(folder, 'delivery.mdb');
  const [damaged, ...others] = endpoints.failing.deliveries;
  if (damaged === undefined) throw new Error('Cannot damage a row: it has no delivery');
  await flipBit(file, 'deliveries', idTail(damaged.id));
  const harness = await openOlder(folder);
  const { deliveries } = harness.webhooks;
  expect(deliveries.find(1, damaged.id)).toBe(undefined);
  const listed = deliveries.list(endpoints.failing.no, allOf).data.map(({ id }) => id);
  expect(listed).toEqual(others.map(({ id }) => id));
  expect(deliveries.count(endpoints.failing.no)).toBe(others.length);
  await harness.settle();
  expect(harness.sender.sent.some(({ deliveryId }) => deliveryId === damaged.id)).toBe(false);
  const { findings } = await verifyFolder(openDataFolder(folder));
  expect(findings.map(({ text }) => text)).toEqual([
    `the record ${idTail(damaged.id)} of the table deliveries is damaged`,
  ]);
});

it('says how many deliveries it converted, once', async () => {
  const file = join(unpackOlder(), 'delivery.mdb');
  const told: number[] = [];
  for (let start = 0; start < 2; start++) {
    const { environment } = openDeliveryTables(file, 'existing', (count) => told.push(count));
    await environment.close();
  }
  expect(told).toEqual([olderDeliveries.length]);
});

/** Without it a range begins at a key that tables of numbers cannot have. */
const wholeTable: RangeOptions = Object.fromEntries([['start', undefined]]);

/** Everything that a closed store and its journal hold, by table. */
async function contentOf(folder: string): Promise<Record<string, string>> {
  const root = open({ path: join(folder, 'delivery.mdb'), noSubdir: true, maxDbs: 64 });
  const content: Record<string, string> = {};
  for (const name of [...root.getKeys()].map(String)) {
    const table = root.openDB<Uint8Array, Uint8Array>({
      name,
      encoding: 'binary',
      keyEncoding: 'binary',
    });
    const records = [...table.getRange(wholeTable)].map(
      ({ key, value }) =>
        `${Buffer.from(key).toString('hex')} ${Buffer.from(value).toString('hex')}`,
    );
    if (records.length > 0) content[name] = records.join('\n');
  }
  await root.close();
  return { ...content, results: readFileSync(join(folder, 'delivery.results.1'), 'utf8') };
}

const migrate = async (folder: string): Promise<void> =>
  await openDeliveryTables(join(folder, 'delivery.mdb')).environment.close();

const versionOf = (content: Record<string, string>): number =>
  content['cursors'] === undefined ? 3 : 2;

it('is converted by the next start when the process is killed at any of its transactions', async () => {
  const whole = unpackOlder();
  await migrate(whole);
  const expected = await contentOf(whole);
  expect(versionOf(expected)).toBe(3);
  expect(expected['results']).toContain('"dlv_');
  const tables = ['backlogs', 'deliveries', 'log', 'queue', 'dead', 'expiry', 'unread'];
  expect(Object.keys(expected).filter((name) => tables.includes(name))).toEqual([]);
  const before = await contentOf(unpackOlder());
  const kills = ['inside', 'behind'].flatMap((where) =>
    [1, 2, 3, 4, 5].map((at) => [where, at] as const),
  );
  const versions: number[] = [];
  for (const [where, at] of kills) {
    const folder = unpackOlder();
    const args = [killed, join(folder, 'delivery.mdb'), String(at), where];
    const { signal, status } = spawnSync(process.execPath, args, { env: environmentWith({}) });
    if (status === 0) continue;
    expect(signal).toBe('SIGKILL');
    const left = await contentOf(folder);
    versions.push(versionOf(left));
    // What the older release had is all there, until none of it is.
    if (versionOf(left) === 2) expect(left).toMatchObject({ ...before, results: left['results'] });
    await migrate(folder);
    expect(await contentOf(folder)).toEqual(expected);
  }
  expect(versions).toEqual([2, 2, 2, 2, 2, 2, 2, 3]);
});

it('stays as it was on a disk that is full', async () => {
  const folder = unpackOlder();
  const before = await contentOf(folder);
  const file = join(folder, 'delivery.mdb');
  const limit = `--fsize=${readFileSync(file).length / 2}`;
  const args = [limit, process.execPath, killed, file, '0', 'inside'];
  const { status, stderr } = spawnSync('prlimit', args, { env: environmentWith({}) });
  expect([status, stderr.toString()]).toEqual([1, expect.stringContaining('storage_full')]);
  expect(await contentOf(folder)).toMatchObject(before);
  await migrate(folder);
  const whole = unpackOlder();
  await migrate(whole);
  expect(await contentOf(folder)).toEqual(await contentOf(whole));
});

it('is refused by the release before, in words', async () => {
  const folder = unpackOlder();
  await migrate(folder);
  const before = { ...deliveryVersion, version: 2, migrations: [checksumsFromHere] };
  const path = join(folder, 'delivery.mdb');
  expect(() => openEnvironment(path, before)).toThrow(
    `Cannot open ${path}: its data has version 3, expected 2 or older; start a newer Quietzone`,
  );
});
