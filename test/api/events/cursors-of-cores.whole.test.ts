/**
 * Cursors of one core at another: two real stores that have counted the same journals in blocks cut elsewhere, each behind
 * the other now and then. Nothing is left out, and what is repeated came in the minute around the change.
 */
import { createSecretKey, getRandomValues } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { EventFeed } from '../../../src/api/events/event-feed.ts';
import { eventRoutes } from '../../../src/api/events/events.ts';
import { readPosition } from '../../../src/api/events/stream-position.ts';
import type { Result } from '../../../src/api/kernel/route.ts';
import { Positions } from '../../../src/api/kernel/positions.ts';
import { createIdSource } from '../../../src/model/ids.ts';
import { Outbox } from '../../../src/webhooks/outbox.ts';
import type { RawScanCursor } from '../../../src/engine/analytics/raw-scans.ts';
import type { Management } from '../../../src/store/management/management.ts';
import { SecretCipher } from '../../../src/product/workspaces/secret-cipher.ts';
import { temporaryManagement } from '../../store/temporary-management.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { EngineHarness, type ScanInput, scanOf } from '../../engine/counting/engine-harness.ts';

const [journals, codes, workspaceNo] = [2, 40, 1];
const stepMs = 2_000;

/** A core that has the scans of the cluster some steps later than they come, by journal. */
class Core {
  readonly engine = new EngineHarness({ journals, rawRetentionDays: 90 });
  readonly sources;
  /** By journal, what has not come. */
  readonly #waiting: Array<Array<() => void>> = Array.from({ length: journals }, () => []);

  constructor(scanStore: string, shards: number, management: Management, clock: TestClock) {
    this.engine.startShards(shards);
    const secret = createSecretKey(Buffer.alloc(32, 8));
    const positions = new Positions(new SecretCipher(() => secret, getRandomValues));
    const outbox = new Outbox(management, createIdSource(clock, getRandomValues), clock);
    this.sources = { outbox, scans: this.engine.queries.events, positions, clock, scanStore };
  }

  take(journal: number, timeMs: number, inputs: readonly ScanInput[]): void {
    this.#waiting[journal]!.push(() => this.engine.scan(journal, timeMs, inputs));
  }

  /** What has waited longer than so many of its journal comes, and is counted. */
  follow(...behind: readonly number[]): void {
    for (const [journal, waiting] of this.#waiting.entries()) {
      while (waiting.length > behind[journal]!) waiting.shift()!();
    }
    this.engine.settle();
  }

  /** Ids of the events of a live stream from an id on, and its last id. */
  stream(from: string | undefined, chunksMax = Infinity) {
    const filter = { workspaceNo, role: 'owner', kinds: undefined, codeId: undefined } as const;
    const start = from === undefined ? undefined : readPosition(this.sources, workspaceNo, from);
    const feed = new EventFeed(this.sources, filter, start);
    const ids: string[] = [];
    let last = feed.idLine().slice(4).trim();
    for (let chunk = 0; chunk < chunksMax; chunk++) {
      const { text, hasMore } = feed.next();
      for (const [, id = '', event = ''] of text.matchAll(/id: (.*)\ndata: \{"id":"(\w+)"/g)) {
        ids.push(event);
        last = id;
      }
      if (!hasMore) break;
    }
    return { ids, last, hasGap: feed.hasGap };
  }

  /** Pages of events, newest first. */
  async pages(cursor: string | undefined, pagesMax = Infinity) {
    const [route] = eventRoutes(this.sources);
    const ids: string[] = [];
    let next = cursor;
    for (let page = 0; page < pagesMax; page++) {
      const query = next === undefined ? 'limit=20' : `limit=20&cursor=${next}`;
      const actor = { workspaceNo, role: 'owner' };
      const call = { actor, params: {}, query, header: () => undefined };
      const { body } = (await route!.run(call as never)) as Result;
      const page: { data: Array<{ id: string }>; nextCursor?: string } = JSON.parse(body);
      ids.push(...page.data.map(({ id }) => id));
      next = page.nextCursor;
      if (next === undefined) break;
    }
    return { ids, next };
  }
}

type Behind = Readonly<Record<'one' | 'two', readonly number[]>>;

function openPair() {
  const { store } = temporaryManagement();
  const clock = new TestClock();
  const one = new Core('n_1.n_one', 2, store, clock);
  const two = new Core('n_2.n_two', 3, store, clock);
  onTestFinished(async () => {
    await one.engine.close();
    await two.engine.close();
  });
  let step = 0;
  /** So many steps, in each of which there are scans. */
  const run = (steps: number, behind: Behind): void => {
    for (const end = step + steps; step < end; step++) {
      clock.move(stepMs);
      for (const core of [one, two]) {
        core.engine.nowMs = clock.now();
        core.take(step % journals, clock.now(), scansOf(step));
      }
      one.follow(...behind.one);
      // In larger blocks.
      if (step % 3 === 2) two.follow(...behind.two);
    }
  };
  return { one, two, run };
}

const perStep = 7;
const scansOf = (step: number): ScanInput[] =>
  Array.from({ length: perStep }, (_, at) =>
    scanOf(1 + ((step * 11 + at * 5) % codes), { address: Uint8Array.of(10, 1, step & 255, at) }),
  );

const repeatsOf = (ids: readonly string[]): number => ids.length - new Set(ids).size;
/** Of a minute, and what a core was behind. */
const boundOf = (behindSteps: number): number => (30 + behindSteps + 3) * perStep;

const atOnce = [0, 0];
const late = [3, 7];
/** Each journal has scans at every second step. */
const lateSteps = 2 * 7;

test.each([
  ['both have everything at once', atOnce, atOnce],
  ['the first one is behind', late, atOnce],
  ['the second one is behind', atOnce, late],
])('a stream and pages go on at the other core: %s', async (_, behindOne, behindTwo) => {
  const { one, two, run } = openPair();
  const behind = { one: behindOne, two: behindTwo };
  const inTime = { one: atOnce, two: atOnce };
  const start = one.stream(undefined).last;
  run(45, behind);
  const first = one.stream(start);
  const page = await one.pages(undefined, 6);
  const older = await one.pages(page.next);
  expect(repeatsOf([...page.ids, ...older.ids])).toBe(0);

  run(20, inTime);
  const olderThere = await two.pages(page.next);
  const pages = [...page.ids, ...olderThere.ids];
  expect(older.ids.filter((id) => !pages.includes(id))).toEqual([]);
  expect(repeatsOf(pages)).toBeLessThanOrEqual(boundOf(lateSteps));

  const second = two.stream(first.last);
  expect(second.hasGap).toBe(false);
  run(18, inTime);
  const third = one.stream(second.last);
  const ids = [...first.ids, ...second.ids, ...third.ids];
  expect(new Set(ids).size).toBe(83 * perStep);
  expect(repeatsOf(ids)).toBeLessThanOrEqual(boundOf(lateSteps) + boundOf(0));
  // At its own core it continues exactly.
  expect(repeatsOf([...first.ids, ...one.stream(first.last).ids])).toBe(0);
});

test('raw scans of a code go on at the other core', async () => {
  const { one, two, run } = openPair();
  run(50, { one: atOnce, two: atOnce });
  const filter = { codeNo: 6, bots: 'without', fromDay: 0, toDay: 99_999 } as const;
  const walk = (core: Core, from: RawScanCursor | undefined, limit = Infinity) => {
    const ids: string[] = [];
    let place = from;
    while (place !== undefined && ids.length < limit) {
      const { scans, next } = core.engine.queries.raw.step(filter, place, 5);
      ids.push(...scans.map(({ id }) => id));
      place = next;
    }
    return { ids, stop: place };
  };
  const all = walk(one, one.engine.queries.raw.begin(filter)).ids;
  const first = walk(one, one.engine.queries.raw.begin(filter), 5);
  const stopMs = one.engine.queries.events.timeOf(first.stop!, Infinity);
  const second = walk(two, two.engine.queries.raw.begin(filter, stopMs));
  expect(new Set([...first.ids, ...second.ids])).toEqual(new Set(all));
  expect(first.ids.length + second.ids.length).toBeLessThan(all.length + 10);
});
