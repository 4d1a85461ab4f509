/** Deliveries of the two outboxes: the same, whichever way they are read, and no scan or event in none. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { getRandomValues } from 'node:crypto';
import { join } from 'node:path';
import { isMissed, missedRoutes } from '../../../src/model/routing/labels.ts';
import type { Routing } from '../../../src/model/routing/routing.ts';
import type { Position } from '../../../src/store/delivery/delivery.ts';
import { WheelClock } from '../../../src/webhooks/deliveries/retry-wheel.ts';
import { firstPosition, type ListenersOf } from '../../../src/webhooks/feeds/outbox-reader.ts';
import { ScanOutbox, type ScanOutboxOptions } from '../../../src/webhooks/feeds/scan-outbox.ts';
import { unshown } from '../../../src/engine/counting/scanned-event.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import {
  bot,
  codeOf as code,
  endpointOf,
  expectSame,
  fixed,
  openScanEngine,
  readAll,
} from './reader-checks.ts';
import { routingOf } from '../../engine/links/routed.ts';
import { scanOf } from '../../engine/counting/engine-harness.ts';
import { phone } from '../bare-webhooks.ts';
import { runs } from '../../seconds/runs.ts';
import type { EventKind } from '../../../src/model/event.ts';
import { createIdSource } from '../../../src/model/ids.ts';
import { Outbox } from '../../../src/webhooks/outbox.ts';
import { EventOutbox } from '../../../src/webhooks/feeds/event-outbox.ts';
import { temporaryManagement } from '../../store/temporary-management.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';

function openOutbox(codeOf: ScanOutboxOptions['codeOf'] = code) {
  const engine = openScanEngine();
  const clock = new TestClock();
  const reader = new ScanOutbox({
    scans: engine.store,
    codeOf,
    clock: new WheelClock(clock, clock, undefined),
  });
  /**
   * A block with so many scans of each code, a bot's after every third, and somebody's in vain after every fourth, some
   * milliseconds after the last one.
   */
  const window = (scans: Readonly<Record<number, number>>, route = 0): void => {
    const inputs = Object.entries(scans).flatMap(([code, count]) =>
      Array.from({ length: count }, (_, at) => {
        const workspaceNo = Number(code) < 10 ? 1 : 2;
        const scan = scanOf(Number(code), { workspaceNo, agent: phone, route });
        const others = at % 3 === 2 ? [{ ...scan, agent: bot }] : [];
        const vain = at % 4 === 3 ? [{ ...scan, route: missedRoutes.paused }] : [];
        return [scan, ...others, ...vain];
      }).flat(),
    );
    engine.nowMs += 120;
    engine.scan(0, engine.nowMs, inputs);
    while (engine.cycle(0));
    reader.refresh();
  };
  /** The scans of people that a workspace has. */
  const scansOf = (workspaceNo: number): number =>
    engine.facts.filter(
      ({ agent, workspaceNo: of, codeNo, route = 0 }) =>
        agent === phone && !isMissed(route) && of === workspaceNo && codeNo !== 9,
    ).length;
  return { engine, clock, reader, window, scansOf };
}

const idsIn = (deliveries: ReturnType<typeof readAll>): string[] =>
  deliveries.flatMap(({ eventIds }) => eventIds);

it('makes the same deliveries of the same scans, whatever the blocks, the pages and the lists', () => {
  const { reader, window, scansOf, clock } = openOutbox();
  const count = fc.oneof(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 90, max: 220 }));
  const scans = fc.dictionary(fc.constantFrom('1', '2', '3', '9', '10'), count, { maxKeys: 4 });
  const bounds = fc.record({
    page: fc.integer({ min: 5, max: 150 }),
    maxBatch: fc.constantFrom(1, 7, 30, 100),
  });
  fc.assert(
    fc.property(scans, bounds, (codes, { page, maxBatch }) => {
      window(codes);
      const endpoint = endpointOf({ maxBatch });
      const before = expectSame(reader, endpoint, [page, 40]);
      expect(new Set(idsIn([...before])).size).toBe(scansOf(1));
      clock.move(60_000);
      const after = readAll((from) => reader.readFor(endpoint, from, { deliveriesMax: 9 }));
      expect(after.map(fixed)).toEqual(before.map(fixed));
    }),
    { numRuns: 4 },
  );
});

it('has one body for each scan of a quiet code, and lists of a busy one, with the texts of GET /events', () => {
  const { engine, reader, window } = openOutbox();
  window({ 1: 10, 2: 11, 3: 250, 9: 5, 10: 40 });
  const bodiesOf = (maxBatch: number): string[] =>
    readAll((from) => reader.readFor(endpointOf({ maxBatch }), from, { deliveriesMax: 1e6 })).map(
      ({ body }) => body,
    );
  const sizesOf = (maxBatch: number): number[] =>
    bodiesOf(maxBatch).map((body) => (body.startsWith('[') ? JSON.parse(body).length : 0));
  const singles = (count: number): number[] => Array<number>(count).fill(0);
  expect(sizesOf(100)).toEqual([...singles(10), 11, 100, 100, 50]);
  expect(sizesOf(30)).toEqual([...singles(10), 11, 30, 30, 30, 10, 30, 30, 30, 10, 30, 20]);
  expect(sizesOf(1)).toEqual(singles(271));
  const { data } = engine.queries.events.page(1, undefined, 1_000);
  const texts = bodiesOf(100).flatMap((body) => [JSON.parse(body)].flat());
  expect(texts.map((text) => JSON.stringify(text)).toSorted()).toEqual(
    data.map((event) => JSON.stringify(event)).toSorted(),
  );
  const referer = `https://example.com/${'ä'.repeat(600)}`;
  engine.scan(0, engine.nowMs, Array(100).fill(scanOf(4, { agent: phone, referer })));
  engine.settle();
  reader.refresh();
  const bytes = bodiesOf(100).map((body) => Buffer.byteLength(body));
  expect(Math.max(...bytes)).toBeLessThanOrEqual(65_536);
  expect(bytes.slice(14).reduce((sum, one) => sum + one, 0)).toBeGreaterThan(100_000);
});

it('has each scan in one delivery after all, where maxBatch changes in the middle of a block', () => {
  const { reader, window, scansOf } = openOutbox();
  window({ 1: 250, 2: 4, 3: 130 });
  window({ 1: 40 });
  const sizes = [100, 30, 7, 1, 64];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...sizes), { minLength: 1, maxLength: 6 }), (batches) => {
      // Each time it goes on behind one that was sent, as a process does after a start.
      const sent: string[] = [];
      let to: Position = firstPosition;
      for (const maxBatch of batches) {
        const endpoint = endpointOf({ maxBatch });
        const { created } = reader.readFor(endpoint, to, { deliveriesMax: 1 });
        const [first] = created;
        if (first === undefined) break;
        sent.push(...first.eventIds);
        const [sequence, , last] = first.outboxRef!.ref;
        to = [sequence - 1, last + 1];
      }
      const endpoint = endpointOf({ maxBatch: 30 });
      const read = (from: Position) => reader.readFor(endpoint, from, { deliveriesMax: 3 });
      const all = [...sent, ...idsIn(readAll(read, () => undefined, to))];
      expect(all).toHaveLength(scansOf(1));
      expect(new Set(all).size).toBe(scansOf(1));
    }),
    { numRuns: runs(15) },
  );
});

it('names the label that led a scan, and keeps its bytes when a code gets labels later', () => {
  let routing: Routing | undefined;
  const { engine, reader, window } = openOutbox((no) => ({
    id: `qr_${no}`,
    ...(routing === undefined ? {} : { routing }),
  }));
  const endpoint = endpointOf({ maxBatch: 30 });
  const bodies = (): string[] => {
    const all = readAll((from) => reader.readFor(endpoint, from, { deliveriesMax: 9 }));
    for (const { body, outboxRef } of all) {
      expect(reader.at(endpoint, outboxRef!.ref)?.body).toBe(body);
    }
    return all.map(({ body }) => body);
  };
  const routesIn = (text: string): unknown[] =>
    [JSON.parse(text)].flat().map(({ data }): unknown => data.route);
  window({ 1: 2 });
  const plain = bodies();
  expect(plain.flatMap(routesIn)).toEqual([undefined, undefined]);
  // Paused alone: no labels yet.
  routing = routingOf({});
  expect(bodies()).toEqual(plain);
  routing = routingOf({ labels: [{ name: 'ios' }], labelsSinceMs: engine.nowMs + 1 });
  window({ 1: 12 }, 1);
  window({ 1: 1 });
  const all = bodies();
  expect(all.slice(0, 2)).toEqual(plain);
  expect(all.slice(2).map(routesIn)).toEqual([Array(12).fill('ios'), ['target']]);
  routing = { ...routing, labels: [{ name: 'ios', unusedSinceMs: 5 }, { name: 'android' }] };
  expect(bodies()).toEqual(all);
});

it('tells how many scans a listener gets, also of a block that is read in parts', () => {
  const { reader, window } = openOutbox();
  window({ 1: 250, 2: 4, 3: 11, 10: 90 });
  window({ 2: 10, 3: 130 });
  for (const maxBatch of [1, 7, 30, 100]) {
    const endpoint = endpointOf({ maxBatch });
    let told = 0;
    const listenersOf: ListenersOf = (workspaceNo, _kind, _sequence, events) => {
      if (workspaceNo !== endpoint.workspaceNo) return [];
      told += events();
      return [endpoint];
    };
    const created = readAll((from) => reader.read(from, listenersOf, { deliveriesMax: 20 }));
    expect(told).toBe(idsIn(created).length);
  }
});

it('has each scan in one list over codes for an endpoint that is behind, in pages and at its place', () => {
  const { reader, window, scansOf } = openOutbox();
  window({ 1: 3, 2: 12, 3: 1, 9: 2, 10: 4 });
  window({ 3: 1 });
  window({ 1: 130, 2: 1, 3: 90 });
  for (const [maxBatch, longest] of [
    [100, 100],
    [7, 7],
    [1, 1],
  ] as const) {
    const endpoint = endpointOf({ maxBatch });
    const pageOf = (deliveriesMax: number) => (from: Position) =>
      reader.readFor(endpoint, from, { deliveriesMax, isBatched: true });
    const all = readAll(pageOf(1e6));
    expect(Math.max(...all.map(({ eventIds }) => eventIds.length))).toBe(longest);
    expect(new Set(idsIn(all)).size).toBe(scansOf(1));
    expect(idsIn(all)).toHaveLength(scansOf(1));
    expect(readAll(pageOf(1)).map(fixed)).toEqual(all.map(fixed));
    for (const one of all) expect(reader.at(endpoint, one.outboxRef!.ref)).toEqual(one);
    if (maxBatch === 100)
      expect(all.slice(0, 2).map(({ eventIds }) => eventIds.length)).toEqual([16, 1]);
    if (maxBatch === 100) expect(all[1]!.body.startsWith('{')).toBe(true);
  }
});

it('makes the same lists of a block, whatever maxBatch is for later ones', () => {
  const { reader, window } = openOutbox();
  window({ 1: 90 });
  const before = expectSame(reader, endpointOf({ maxBatch: 40 }), [1]);
  const upTo = reader.newest;
  window({ 1: 90 });
  const batches = [
    { upTo, maxBatch: 40 },
    { upTo, maxBatch: 7 },
  ];
  const after = [...expectSame(reader, endpointOf({ maxBatch: 30, batches }), [1])];
  expect(after.slice(0, before.length).map(fixed)).toEqual([...before].map(fixed));
  expect(after.slice(before.length).map(({ eventIds }) => eventIds.length)).toEqual([30, 30, 30]);
  // At its place, whatever an endpoint has now.
  for (const delivery of before) {
    const found = reader.at(endpointOf({ maxBatch: 1 }), delivery.outboxRef!.ref);
    expect(fixed(found!)).toEqual(fixed(delivery));
  }
});

it('goes on over more blocks than one reading has, and finds the newest of an earlier time', () => {
  const { reader, window } = openOutbox();
  window({ 1: 3 });
  for (let block = 0; block < 150; block++) window({ 10: 1 });
  window({ 1: 2 });
  const made = expectSame(reader, endpointOf(), [1, 100]);
  expect(made).toHaveLength(5);
  expect(expectSame(reader, endpointOf({ workspaceNo: 2 }), [64])).toHaveLength(150);
});

it('knows nothing of scans of others, and of none that is gone', () => {
  const { reader, window, engine } = openOutbox();
  window({ 1: 3, 10: 3 });
  const [mine] = expectSame(reader, endpointOf(), [1]);
  const [another] = expectSame(reader, endpointOf({ workspaceNo: 2 }), [1]);
  expect(reader.find(endpointOf(), another!.eventIds[0]!)).toBeUndefined();
  expect(reader.at(endpointOf(), another!.outboxRef!.ref)).toBeUndefined();
  engine.store.environment.transactionSync(() => engine.store.blocks.remove(1));
  reader.refresh();
  expect(reader.at(endpointOf(), mine!.outboxRef!.ref)).toBeUndefined();
  expect(reader.find(endpointOf(), mine!.eventIds[0]!)).toBeUndefined();
  expect(reader.readFor(endpointOf(), firstPosition, { deliveriesMax: 9 }).created).toEqual([]);
});

it('passes over a scan with a time that cannot be, and makes the deliveries around it', () => {
  const { engine, reader, window } = openOutbox();
  const before = unshown.scans;
  window({ 1: 1 });
  for (const timeMs of [Number.NaN, Infinity, -1]) {
    engine.scan(0, timeMs, [scanOf(1, { agent: phone })]);
  }
  window({ 1: 1 });
  const { created, hasMore } = reader.read(firstPosition, () => [endpointOf()], {
    deliveriesMax: 100,
  });
  expect([created.length, hasMore]).toEqual([2, false]);
  expect(engine.queries.events.page(1, undefined, 100).data).toHaveLength(2);
  expect(unshown.scans).toBe(before + 6);
});

interface Appended {
  readonly workspaceNo: number;
  readonly kind: EventKind;
}

function openEvents() {
  const temporary = temporaryManagement();
  const clock = new TestClock();
  const ids = createIdSource(clock, getRandomValues);
  const outbox = new Outbox(temporary.store, ids, clock);
  const readerOf = (from: Outbox) => new EventOutbox(from, new WheelClock(clock, clock, undefined));
  const reader = readerOf(outbox);
  const reopen = async () => {
    await temporary.reopen();
    return readerOf(new Outbox(temporary.store, ids, clock));
  };
  const append = (events: readonly Appended[]): void => {
    temporary.store.environment.transactionSync(() => {
      for (const { kind, workspaceNo } of events) {
        outbox.append(kind, workspaceNo, { text: 'äöü' });
        clock.move(3);
      }
    });
    reader.refresh();
  };
  return { temporary, clock, reopen, reader, append };
}

const own = { workspaceNo: 1, kind: 'qr.created' } as const;
const others = { workspaceNo: 2, kind: 'qr.created' } as const;
const copies = (count: number, event: Appended) => Array.from({ length: count }, () => event);

it('makes the same deliveries of the same events, whatever the events and the pages', () => {
  const { reader, append, clock } = openEvents();
  const kind = fc.constantFrom<EventKind>('qr.created', 'qr.deleted', 'member.joined');
  const event = fc.record({ workspaceNo: fc.constantFrom(1, 1, 2), kind });
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 12 }),
      fc.integer({ min: 1, max: 9 }),
      (events, page) => {
        append(events);
        const endpoint = endpointOf({ events: ['qr.created', 'member.joined'] });
        const before = expectSame(reader, endpoint, [page, 3]);
        clock.move(60_000);
        expect(expectSame(reader, endpoint, [1]).map(fixed)).toEqual(before.map(fixed));
      },
    ),
    { numRuns: 12 },
  );
});

it('goes on over stretches without a delivery, many readings long', () => {
  const { reader, append } = openEvents();
  append([
    own,
    ...copies(1_700, others),
    own,
    ...copies(1_100, { ...own, kind: 'qr.deleted' }),
    own,
  ]);
  const endpoint = endpointOf({ events: ['qr.created'] });
  expect(expectSame(reader, endpoint, [1, 10])).toHaveLength(3);
});

it('passes over a damaged event, however it is read', async () => {
  const { temporary, append, reopen } = openEvents();
  append(copies(6, own));
  await temporary.store.close();
  const stored = new StoredBytes(join(temporary.folder, 'management.mdb'));
  stored.flip('events', stored.keys('events')[2]!, 99);
  await stored.close();
  const reader = await reopen();
  const places = expectSame(reader, endpointOf(), [1, 2, 6]).map(
    ({ outboxRef }) => outboxRef!.ref[0],
  );
  expect(places).toEqual([1, 2, 4, 5, 6]);
  expect(reader.at(endpointOf(), [3, 0, 0, 'one'])).toBeUndefined();
  expect(reader.readFor(endpointOf(), firstPosition, { deliveriesMax: 9 }).hasMore).toBe(false);
});
