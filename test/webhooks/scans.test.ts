/** From committed windows to `qr.scanned`: endpoints that are behind, starts over damage, and what it costs nobody. */
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Signal } from '../../src/model/signal.ts';
import { openDeliveryTables } from '../../src/store/delivery/delivery.ts';
import { SentEvents } from '../../src/webhooks/feeds/sent-events.ts';
import { scanOf } from '../engine/counting/engine-harness.ts';
import { phone } from './bare-webhooks.ts';
import { bot, codeOf, openScanEngine } from './feeds/reader-checks.ts';
import { startMs } from '../support/fakes/test-clock.ts';
import { StoredBytes } from '../support/stored-bytes.ts';
import { type HarnessSettings, openHarness } from './webhooks-harness.ts';

async function openScans(settings: HarnessSettings = {}) {
  const engine = openScanEngine();
  const committed = new Signal();
  const { store } = engine;
  const range = vi.spyOn(store.blocks, 'range');
  const onDelivered = (block: number): void => {
    scans.delivered = block;
  };
  const harness = await openHarness(settings, {
    scanned: { store, codeOf, committed, onDelivered },
  });
  const scans = {
    harness,
    engine,
    delivered: 0,
    /** Walks over the blocks. */
    get reads() {
      return range.mock.calls.length;
    },
    /** One window with so many scans of each code, and the same number of a bot's. */
    window: (
      counts: Readonly<Record<number, number>>,
      referer = 'https://example.com/',
      atMs = startMs,
    ) => {
      const inputs = Object.entries(counts).flatMap(([code, count]) => {
        const workspaceNo = Number(code) < 10 ? 1 : 2;
        return Array.from({ length: count }, () => [phone, bot])
          .flat()
          .map((agent) => scanOf(Number(code), { workspaceNo, referer, agent }));
      });
      engine.scan(0, atMs, inputs);
      while (engine.cycle(0));
      committed.fire();
    },
  };
  return scans;
}

it('sends lists over codes to an endpoint that is behind, and says how late it is', async () => {
  const { harness, window, engine } = await openScans();
  const { no, id } = await harness.endpoint();
  const metric = async (): Promise<number> => {
    const text = await harness.app.metrics.text();
    return Number(text.match(`quietzone_webhook_oldest_seconds{endpoint="${id}"} (.*)`)?.[1]);
  };
  harness.sender.answer = () => 'hang';
  for (let count = 0; count < 5; count++) window({ 1: 8, 2: 9, 3: 7, 4: 10 });
  await harness.settle();
  expect(harness.webhooks.behind).toBeUndefined();
  await harness.pass(31_000, 1_000);
  expect(await metric()).toBeGreaterThan(30);
  expect(harness.webhooks.behind).toMatch(/up to 3\d s late/);
  harness.sender.end(200);
  await harness.settle();
  const batched = harness.sender.sent.slice(16);
  // What is left of the first block, and a list for each of the others.
  expect(batched.map(({ body }) => [JSON.parse(body)].flat().length)).toEqual([18, 34, 34, 34, 34]);
  await harness.crash();
  await harness.settle();
  const again = harness.sender.sent.map(({ deliveryId, body }) => [deliveryId, body]);
  expect(again).toEqual(batched.map(({ deliveryId, body }) => [deliveryId, body]));
  const shown = engine.queries.events.page(1, undefined, 1_000).data.length;
  expect([shown, harness.deliveries.figures(no).waiting]).toEqual([170, 0]);
  expect([await metric(), harness.webhooks.behind]).toEqual([0, undefined]);
});

/** Two scans of each of three times are sent, one by one. */
async function openSent(settings: HarnessSettings = {}) {
  const scans = await openScans(settings);
  const { no } = await scans.harness.endpoint({ maxBatch: 1 });
  for (const minutes of [0, 10, 20]) {
    scans.window({ 1: 2 }, undefined, startMs + minutes * 60_000);
    await scans.harness.settle();
  }
  return { ...scans, no };
}

it('finds sent scans of an earlier time than it was first asked for', async () => {
  const { harness, no } = await openSent();
  await harness.crash(() => {
    const tables = openDeliveryTables(join(harness.app.dataDir, 'delivery.mdb'));
    onTestFinished(() => tables.environment.close());
    const sent = new SentEvents(tables);
    expect(sent.to(no, startMs + 20 * 60_000).size).toBe(2);
    expect(sent.to(no, startMs).size).toBe(6);
  });
});

it('reads again from the oldest scans of the log where the position is damaged', async () => {
  const { harness, window, no } = await openSent({ deliveriesKept: 4 });
  expect(harness.deliveries.count(no)).toBe(4);
  await harness.crash(() => {
    const stored = new StoredBytes(join(harness.app.dataDir, 'delivery.mdb'));
    onTestFinished(() => stored.close());
    const [scans, ...others] = stored.keys('positions');
    expect(others).toEqual([]);
    stored.flip('positions', scans!, 77);
    harness.app.store.environment.refresh();
  });
  await harness.settle();
  expect(harness.sender.sent).toEqual([]);
  window({ 1: 3 }, undefined, startMs + 30 * 60_000);
  await harness.settle();
  expect(harness.sender.sent).toHaveLength(3);
});

it('reads no block while nobody listens, and starts with what comes after the endpoint', async () => {
  const scans = await openScans();
  const { harness, window } = scans;
  await harness.endpoint({ events: ['qr.created'] });
  for (let count = 0; count < 5; count++) {
    window({ 1: 3 });
    await harness.settle();
  }
  expect(scans.reads).toBe(0);
  await harness.pass(11_000, 100);
  expect(scans.delivered).toBe(5);
  const { no } = await harness.endpoint({ events: ['qr.scanned'] });
  window({ 1: 2 });
  await harness.settle();
  expect(harness.sender.sent).toHaveLength(2);
  expect(harness.deliveries.count(no)).toBe(2);
});
