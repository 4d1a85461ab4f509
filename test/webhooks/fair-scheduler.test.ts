/** FairScheduler: limits hold, endpoints are served in rotation, and one that hangs does not delay another's first attempt. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  FairScheduler,
  type SchedulerLimits,
  type Sendable,
  type Taken,
  type TakeRequest,
} from '../../src/webhooks/dispatch/fair-scheduler.ts';
import { runs } from '../seconds/runs.ts';

const body = 'x'.repeat(10);

const idOf = (no: number): string => `dlv_${String(no).padStart(6, '0')}`;

/** What endpoints have to send, in memory: rows, which stay until they are done, and fresh ones, which leave as they start. */
class Queue {
  readonly waiting = new Map<number, Sendable[]>();
  readonly fresh = new Map<number, Sendable[]>();
  failures = new Map<number, number>();
  #no = 0;

  add(endpointNo: number, count = 1, to = this.waiting, text = body): Sendable[] {
    const created = Array.from({ length: count }, () => {
      const outboxRef = to === this.waiting ? undefined : {};
      return { id: idOf(++this.#no), endpointNo, body: text, outboxRef };
    });
    to.set(endpointNo, [...(to.get(endpointNo) ?? []), ...created]);
    return created;
  }
  take(endpointNo: number, { count, active, rowsFrom }: TakeRequest): Taken<Sendable> {
    const rows =
      rowsFrom === undefined
        ? []
        : (this.waiting.get(endpointNo) ?? []).filter(
            ({ id }) => id >= rowsFrom[1] && !active.has(id),
          );
    const next = rows[count];
    const taken = rows.slice(0, count);
    taken.push(...(this.fresh.get(endpointNo) ?? []).splice(0, count - taken.length));
    return { taken, rowsFrom: next && [0, next.id] };
  }
  /** It has no result. */
  giveBack(one: Sendable): void {
    if (this.waiting.get(one.endpointNo)?.includes(one) !== true) {
      this.fresh.set(one.endpointNo, [one, ...(this.fresh.get(one.endpointNo) ?? [])]);
    }
  }
  done({ endpointNo, id }: Sendable): void {
    const rest = (this.waiting.get(endpointNo) ?? []).filter((one) => one.id !== id);
    this.waiting.set(endpointNo, rest);
  }
  failuresInRow(endpointNo: number): number {
    return this.failures.get(endpointNo) ?? 0;
  }
}

function open(limits: Partial<SchedulerLimits> = {}) {
  const queue = new Queue();
  const all = { endpointMax: 16, inFlightMax: 100, bytesMax: 1e9, ...limits };
  return { scheduler: new FairScheduler(all, queue), queue };
}

it('an endpoint is given more in advance, which does not count as in flight, while its bodies are small', () => {
  const { scheduler, queue } = open({ aheadMax: 100 });
  queue.add(1, 500, queue.fresh);
  scheduler.wake(1);
  const first = scheduler.start();
  expect([first.length, scheduler.inFlight]).toEqual([116, 16]);
  const end = (one: Sendable): void => {
    scheduler.ended(one, 'succeeded');
    scheduler.committed(one);
  };
  first.slice(0, 100).forEach(end);
  expect(scheduler.inFlight).toBe(16);
  first.slice(100, 110).forEach(end);
  expect(scheduler.inFlight).toBe(6);
  queue.add(2, 500, queue.fresh, 'x'.repeat(65_536));
  scheduler.wake(2);
  expect(scheduler.start().filter(({ endpointNo }) => endpointNo === 2)).toHaveLength(16);
});

it('an endpoint has 16 in flight at most, 1 after five failures in a row, 16 again after a success', () => {
  const { scheduler, queue } = open();
  queue.add(1, 100);
  scheduler.wakeRows(1);
  const first = scheduler.start();
  expect(first).toHaveLength(16);
  expect(scheduler.start()).toHaveLength(0);
  const end = (one: Sendable, outcome: 'succeeded' | 'failed'): void => {
    scheduler.ended(one, outcome);
    queue.done(one);
    scheduler.committed(one);
  };
  for (const one of first.slice(0, 5)) end(one, 'failed');
  expect(scheduler.start()).toHaveLength(0);
  for (const one of first.slice(5)) end(one, 'failed');
  const [trial, ...more] = scheduler.start();
  expect(more).toHaveLength(0);
  end(trial!, 'failed');
  const [second] = scheduler.start();
  end(second!, 'succeeded');
  expect(scheduler.start()).toHaveLength(16);
  // Stored failures of one that was idle count.
  queue.failures.set(2, 7);
  queue.add(2, 3);
  scheduler.wakeRows(2);
  expect(scheduler.start()).toHaveLength(1);
});

it('an endpoint has what is fresh and rows that are due started together, in one limit', () => {
  const { scheduler, queue } = open();
  const fresh = queue.add(1, 30, queue.fresh);
  scheduler.wake(1);
  expect(scheduler.start()).toEqual(fresh.slice(0, 16));
  const rows = queue.add(1, 3);
  scheduler.wakeRows(1);
  expect(scheduler.start()).toEqual([]);
  for (const one of fresh.slice(0, 5)) scheduler.ended(one, 'succeeded');
  expect(scheduler.start()).toEqual([...rows, ...fresh.slice(16, 18)]);
  // A wake for what is fresh does not look for rows again.
  queue.done(rows[0]!);
  const [late] = queue.add(1);
  for (const one of fresh.slice(5, 7)) scheduler.ended(one, 'succeeded');
  scheduler.wake(1);
  expect(scheduler.start()).toEqual(fresh.slice(18, 20));
  for (const one of fresh.slice(7, 8)) scheduler.ended(one, 'succeeded');
  scheduler.wakeRows(1);
  expect(scheduler.start()).toEqual([late]);
});

it('all together stay within their bounds, of attempts and of bytes', () => {
  for (const limits of [{ inFlightMax: 40 }, { bytesMax: 400 }]) {
    const { scheduler, queue } = open(limits);
    for (let no = 1; no <= 20; no++) {
      queue.add(no, 50);
      scheduler.wakeRows(no);
    }
    scheduler.start();
    // The last endpoint to take may go over the bytes.
    expect(scheduler.inFlight).toBeLessThanOrEqual(40 + 16);
    expect(scheduler.inFlight).toBeGreaterThanOrEqual(20);
  }
});

it('all together start the first attempt of a healthy endpoint though hundreds hang', () => {
  const { scheduler, queue } = open({ inFlightMax: 400 });
  for (let no = 1; no <= 100; no++) {
    queue.add(no, 50);
    scheduler.wakeRows(no);
  }
  const hanging = scheduler.start();
  expect(hanging.length).toBeGreaterThanOrEqual(300);
  for (let no = 101; no <= 180; no++) {
    queue.add(no);
    scheduler.wakeRows(no);
  }
  const healthy = scheduler.start().map(({ endpointNo }) => endpointNo);
  expect(new Set(healthy).size).toBe(80);
  expect(healthy.every((no) => no > 100)).toBe(true);
  // The capacity that some free goes to the others in turn.
  for (const one of hanging.slice(0, 100)) scheduler.returnToQueue(one);
  const next = scheduler.start();
  expect(new Set(next.map(({ endpointNo }) => endpointNo)).size).toBeGreaterThan(10);
});

it('all together send everything once, whatever the order of ends, failures and idle times', () => {
  const act = fc.record({
    kind: fc.constantFrom('add', 'fresh', 'start', 'end', 'fail', 'return', 'commit', 'idle'),
    at: fc.nat(1_000),
  });
  fc.assert(
    fc.property(fc.array(act, { maxLength: 120, size: 'max' }), (acts) => {
      const { scheduler, queue } = open({ endpointMax: 3, inFlightMax: 8 });
      const inFlight: Sendable[] = [];
      const committing: Sendable[] = [];
      const sent = new Set<string>();
      let created = 0;
      const take = (list: Sendable[], at: number): Sendable | undefined =>
        list.splice(at % Math.max(1, list.length), 1)[0];
      const step = ({ kind, at }: { kind: string; at: number }): void => {
        const endpointNo = (at % 5) + 1;
        if (kind === 'add') {
          queue.add(endpointNo);
          created += 1;
          scheduler.wakeRows(endpointNo);
        }
        if (kind === 'fresh') {
          queue.add(endpointNo, 1, queue.fresh);
          created += 1;
          scheduler.wake(endpointNo);
        }
        if (kind === 'start') inFlight.push(...scheduler.start());
        if (kind === 'commit' || kind === 'end') {
          const one = take(committing, at);
          if (one !== undefined) {
            queue.done(one);
            sent.add(one.id);
            scheduler.committed(one);
          }
        }
        if (kind === 'end' || kind === 'fail' || kind === 'return') {
          const one = take(inFlight, at);
          if (one === undefined) return;
          if (kind === 'return') return scheduler.returnToQueue(one);
          scheduler.ended(one, kind === 'end' ? 'succeeded' : 'failed');
          committing.push(one);
        }
        if (kind === 'idle') for (const no of scheduler.idle(0)) scheduler.removeIdle(no);
      };
      for (const one of acts) {
        step(one);
        // Neither what is in flight nor what is not committed yet is taken again.
        const active = [...inFlight, ...committing];
        expect(new Set(active.map(({ id }) => id)).size).toBe(active.length);
        expect(inFlight.length).toBe(scheduler.inFlight);
        expect(scheduler.inFlight).toBeLessThanOrEqual(8);
        for (let no = 1; no <= 5; no++) {
          expect(inFlight.filter(({ endpointNo }) => endpointNo === no).length).toBeLessThanOrEqual(
            3,
          );
        }
      }
      for (let at = 0; sent.size < created && at < 2_000; at++) {
        for (const kind of ['start', 'end', 'commit']) step({ kind, at: 0 });
      }
      expect(sent.size).toBe(created);
    }),
    { numRuns: runs(40) },
  );
});
