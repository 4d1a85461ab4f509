/** Engines whose blocks are read, and what every reader of an outbox has to do, whichever way it is asked. */
import { expect, onTestFinished } from 'vitest';
import type { ScannedCode } from '../../../src/model/code.ts';
import type { EndpointRecord } from '../../../src/model/webhook.ts';
import type { Position } from '../../../src/store/delivery/delivery.ts';
import type { Delivery } from '../../../src/webhooks/deliveries/delivery.ts';
import {
  comparePositions,
  endOf,
  firstPosition,
  only,
  type OutboxReader,
  type ReadResult,
} from '../../../src/webhooks/feeds/outbox-reader.ts';
import type { EngineHarness } from '../../engine/counting/engine-harness.ts';
import { startMs } from '../../support/fakes/test-clock.ts';
import { openBareEngine } from '../bare-webhooks.ts';

export const bot = 'Googlebot/2.1 (+http://www.google.com/bot.html)';

/** Codes 1 to 9 belong to workspace 1, others to 2; code 9 is gone for good. */
export const codeOf = (no: number): ScannedCode | undefined =>
  no === 9 ? undefined : { id: `qr_${no}` };

/** With one shard. */
export function openScanEngine(): EngineHarness {
  const engine = openBareEngine(1, { codeOf });
  onTestFinished(async () => await engine.close());
  engine.nowMs = startMs;
  return engine;
}

export const endpointOf = (more: Partial<EndpointRecord> = {}): EndpointRecord => ({
  no: 7,
  id: 'whk_00000000000000000007',
  workspaceNo: 1,
  url: 'https://receiver.example/',
  events: ['*'],
  maxBatch: 100,
  secrets: [],
  status: 'enabled',
  firstEvent: 0,
  firstBlock: 0,
  createdAtMs: 0,
  updatedAtMs: 0,
  createdBy: 'usr_00000000000000000001',
  ...more,
});

/** What must never change of a delivery; when it is due may. */
export const fixed = (one: Delivery) => {
  const { id, endpointNo, workspaceNo, kind, eventIds, body, outboxRef } = one;
  return { id, endpointNo, workspaceNo, kind, eventIds, body, outboxRef };
};

/** Reads on until there is no more. @param check called with each position that something may be continued from */
export function readAll(
  read: (from: Position) => ReadResult,
  check: (position: Position, before: readonly Delivery[]) => void = () => undefined,
  from = firstPosition,
): Delivery[] {
  const created: Delivery[] = [];
  for (;;) {
    const stretch = read(from);
    created.push(...stretch.created);
    check(stretch.position, created);
    if (!stretch.hasMore) return created;
    expect(comparePositions(stretch.position, from)).toBeGreaterThan(0);
    from = stretch.position;
  }
}

/**
 * That an endpoint's deliveries are the same ones however they are read: at once, in pages, beside others, up to a
 * position, one by one, newest first.
 * @returns them, oldest first
 */
export function expectSame(
  reader: OutboxReader,
  endpoint: EndpointRecord,
  pages: readonly number[],
): readonly Delivery[] {
  const { name } = reader;
  const pageOf = (deliveriesMax: number) => (from: Position) =>
    reader.readFor(endpoint, from, { deliveriesMax });
  const all = readAll(pageOf(1e6));
  const expected = all.map(fixed);
  const ends = all.map(({ outboxRef }) => endOf(name, outboxRef!.ref));
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  expect(ends).toEqual(ends.toSorted(comparePositions));
  for (const deliveriesMax of pages) {
    const inPages = readAll(pageOf(deliveriesMax), (position, before) => {
      // Exactly those that end before the position were read.
      const behind = ends.filter((end) => comparePositions(end, position) <= 0);
      expect(before).toHaveLength(behind.length);
      const upTo = reader.readFor(endpoint, firstPosition, { deliveriesMax: 1e6, upTo: position });
      const inBlocks = ends.filter((end) => comparePositions(end, [position[0], 0]) <= 0);
      if (!upTo.hasMore)
        expect(upTo.created.map(fixed)).toEqual(expected.slice(0, inBlocks.length));
    });
    expect(inPages.map(fixed)).toEqual(expected);
    const bounds = { deliveriesMax };
    const shared = readAll((from) => reader.read(from, only(endpoint), bounds));
    expect(shared.map(fixed)).toEqual(expected);
  }
  for (const [at, delivery] of all.entries()) {
    expect(fixed(reader.at(endpoint, delivery.outboxRef!.ref)!)).toEqual(expected[at]);
    expect(fixed(reader.find(endpoint, delivery.eventIds[0]!)!)).toEqual(expected[at]);
    // From where it ends the next one follows.
    const [next] = readFrom(reader, endpoint, ends[at]!);
    expect(next && fixed(next)).toEqual(expected[at + 1]);
  }
  expectNewest(reader, endpoint, all);
  return all;
}

/** The first deliveries behind a position. */
function readFrom(
  reader: OutboxReader,
  endpoint: EndpointRecord,
  from: Position,
): readonly Delivery[] {
  for (let position = from; ;) {
    const stretch = reader.readFor(endpoint, position, { deliveriesMax: 1 });
    if (stretch.created.length > 0 || !stretch.hasMore) return stretch.created;
    ({ position } = stretch);
  }
}

/** By their ids, in pages, and behind a position. */
function expectNewest(
  reader: OutboxReader,
  endpoint: EndpointRecord,
  all: readonly Delivery[],
): void {
  const newestOf = (list: readonly Delivery[]) =>
    list.toSorted((a, b) => (a.id < b.id ? 1 : -1)).map(fixed);
  const limit = 7;
  const found: Delivery[] = [];
  for (let beforeId = '~'; ; beforeId = found.at(-1)?.id ?? '') {
    const page = reader.newestFor(endpoint, { after: firstPosition, beforeId, limit });
    found.push(...page);
    if (page.length < limit) break;
  }
  expect(found.map(fixed)).toEqual(newestOf(all));
  const half = Math.floor(all.length / 2);
  const middle = all[half]?.outboxRef;
  if (middle === undefined) return;
  const after = endOf(reader.name, middle.ref);
  const newest = reader.newestFor(endpoint, { after, beforeId: '~', limit: all.length });
  expect(newest.map(fixed)).toEqual(newestOf(all.slice(half + 1)));
}
