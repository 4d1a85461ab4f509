/** FairScheduler: limits hold, endpoints are served in rotation, and one that hangs does not delay another's first attempt. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FairScheduler,
  type SchedulerLimits,
  type Sendable,
  type Taken,
  type TakeRequest,
} from '../../src/webhooks/dispatch/fair-scheduler.ts';

const body = new Uint8Array(10);

/** A queue in memory. */
class Queue {
  readonly waiting = new Map<number, Sendable[]>();
  failures = new Map<number, number>();
  #no = 0;

  add(endpointNo: number, count = 1): Sendable[] {
    const created = Array.from({ length: count }, () => ({ no: ++this.#no, endpointNo, body }));
    this.waiting.set(endpointNo, [...(this.waiting.get(endpointNo) ?? []), ...created]);
    return created;
  }
  take(endpointNo: number, { count, isActive, from }: TakeRequest): Taken<Sendable> {
    const ahead = (this.waiting.get(endpointNo) ?? []).filter(({ no }) => no >= from[1]);
    const taken = ahead.filter(({ no }) => !isActive(no)).slice(0, count);
    return { taken, next: [0, (taken.at(-1)?.no ?? from[1] - 1) + 1] };
  }
  done({ endpointNo, no }: Sendable): void {
    const rest = (this.waiting.get(endpointNo) ?? []).filter((one) => one.no !== no);
    this.waiting.set(endpointNo, rest);
  }
  failuresInRow(endpointNo: number): number {
    return this.failures.get(endpointNo) ?? 0;
  }
}

function open(limits: Partial<SchedulerLimits> = {}): {
  scheduler: FairScheduler<Sendable>;
  queue: Queue;
} {
  const queue = new Queue();
  const all = { endpointMax: 16, inFlightMax: 100, bytesMax: 1e9, ...limits };
  return { scheduler: new FairScheduler(all, queue), queue };
}

describe('an endpoint', () => {
  it('has 16 in flight at most, 1 after five failures in a row, 16 again after a success', () => {
    const { scheduler, queue } = open();
    queue.add(1, 100);
    scheduler.wake(1);
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
  });

  it('keeps its failures after it was idle and after a restart', () => {
    const { scheduler, queue } = open();
    queue.failures.set(1, 7);
    queue.add(1, 3);
    scheduler.wake(1);
    expect(scheduler.start()).toHaveLength(1);
  });

  it('does not take a delivery again while its result is not committed', () => {
    const { scheduler, queue } = open();
    const [one] = queue.add(1);
    scheduler.wake(1);
    expect(scheduler.start()).toEqual([one]);
    scheduler.ended(one!, 'failed');
    scheduler.wake(1);
    expect(scheduler.start()).toEqual([]);
    scheduler.committed(one!);
    scheduler.wake(1);
    expect(scheduler.start()).toEqual([one]);
    scheduler.returnToQueue(one!);
    expect(scheduler.start()).toEqual([one]);
  });
});

describe('all together', () => {
  it('stay within their bounds, of attempts and of bytes', () => {
    for (const limits of [{ inFlightMax: 40 }, { bytesMax: 400 }]) {
      const { scheduler, queue } = open(limits);
      for (let no = 1; no <= 20; no++) {
        queue.add(no, 50);
        scheduler.wake(no);
      }
      scheduler.start();
      // The last endpoint to take may go over the bytes.
      expect(scheduler.inFlight).toBeLessThanOrEqual(40 + 16);
      expect(scheduler.inFlight).toBeGreaterThanOrEqual(20);
    }
  });

  it('start the first attempt of a healthy endpoint though hundreds hang', () => {
    const { scheduler, queue } = open({ inFlightMax: 400 });
    for (let no = 1; no <= 100; no++) {
      queue.add(no, 50);
      scheduler.wake(no);
    }
    const hanging = scheduler.start();
    expect(hanging.length).toBeGreaterThanOrEqual(300);
    for (let no = 101; no <= 180; no++) {
      queue.add(no);
      scheduler.wake(no);
    }
    const healthy = scheduler.start().map(({ endpointNo }) => endpointNo);
    expect(new Set(healthy).size).toBe(80);
    expect(healthy.every((no) => no > 100)).toBe(true);
    // The capacity that some free goes to the others in turn.
    for (const one of hanging.slice(0, 100)) scheduler.returnToQueue(one);
    const next = scheduler.start();
    expect(new Set(next.map(({ endpointNo }) => endpointNo)).size).toBeGreaterThan(10);
  });

  it('start nothing while paused', () => {
    const { scheduler, queue } = open();
    queue.add(1);
    scheduler.pause();
    scheduler.wake(1);
    expect(scheduler.start()).toEqual([]);
    scheduler.resume();
    expect(scheduler.start()).toHaveLength(1);
  });

  it('send everything once, whatever the order of ends, failures and idle times', () => {
    const act = fc.record({
      kind: fc.constantFrom('add', 'start', 'end', 'fail', 'return', 'commit', 'idle'),
      at: fc.nat(1_000),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 120 }), (acts) => {
        const { scheduler, queue } = open({ endpointMax: 3, inFlightMax: 8 });
        const inFlight: Sendable[] = [];
        const committing: Sendable[] = [];
        const sent = new Set<number>();
        let created = 0;
        const take = (list: Sendable[], at: number): Sendable | undefined =>
          list.splice(at % Math.max(1, list.length), 1)[0];
        const step = ({ kind, at }: { kind: string; at: number }): void => {
          const endpointNo = (at % 5) + 1;
          if (kind === 'add') {
            queue.add(endpointNo);
            created += 1;
            scheduler.wake(endpointNo);
          }
          if (kind === 'start') inFlight.push(...scheduler.start());
          if (kind === 'commit' || kind === 'end') {
            const one = take(committing, at);
            if (one !== undefined) {
              queue.done(one);
              sent.add(one.no);
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
          expect(new Set(inFlight.map(({ no }) => no)).size).toBe(inFlight.length);
          expect(inFlight.length).toBe(scheduler.inFlight);
          expect(scheduler.inFlight).toBeLessThanOrEqual(8);
          for (let no = 1; no <= 5; no++) {
            expect(
              inFlight.filter(({ endpointNo }) => endpointNo === no).length,
            ).toBeLessThanOrEqual(3);
          }
        }
        for (let at = 0; sent.size < created && at < 2_000; at++) {
          for (const kind of ['start', 'end', 'commit']) step({ kind, at: 0 });
        }
        expect(sent.size).toBe(created);
      }),
      { numRuns: 200 },
    );
  });
});
