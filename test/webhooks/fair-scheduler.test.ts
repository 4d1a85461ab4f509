/** FairScheduler: widths hold, turns are fair, and whoever hangs keeps no other from its first attempt. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FairScheduler,
  type SchedulerLimits,
  type Sendable,
  type Taken,
  type Wanted,
} from '../../src/webhooks/dispatch/fair-scheduler.ts';

const body = new Uint8Array(10);

/** A queue in memory. */
class Queue {
  readonly waiting = new Map<number, Sendable[]>();
  failures = new Map<number, number>();
  takes = 0;
  #no = 0;

  add(endpointNo: number, count = 1): Sendable[] {
    const made = Array.from({ length: count }, () => ({ no: ++this.#no, endpointNo, body }));
    this.waiting.set(endpointNo, [...(this.waiting.get(endpointNo) ?? []), ...made]);
    return made;
  }
  take(endpointNo: number, { count, isBusy, from }: Wanted): Taken<Sendable> {
    this.takes += 1;
    const ahead = (this.waiting.get(endpointNo) ?? []).filter(({ no }) => no >= from[1]);
    const taken = ahead.filter(({ no }) => !isBusy(no)).slice(0, count);
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
  lanes: FairScheduler<Sendable>;
  queue: Queue;
} {
  const queue = new Queue();
  const all = { endpointMax: 16, inFlightMax: 100, bytesMax: 1e9, ...limits };
  return { lanes: new FairScheduler(all, queue), queue };
}

describe('an endpoint', () => {
  it('has 16 in flight at most, 1 after five failures in a row, 16 again after a success', () => {
    const { lanes, queue } = open();
    queue.add(1, 100);
    lanes.wake(1);
    const first = lanes.next();
    expect(first).toHaveLength(16);
    expect(lanes.next()).toHaveLength(0);
    const end = (one: Sendable, outcome: 'succeeded' | 'failed'): void => {
      lanes.ended(one, outcome);
      queue.done(one);
      lanes.settled(one);
    };
    for (const one of first.slice(0, 5)) end(one, 'failed');
    expect(lanes.next()).toHaveLength(0);
    for (const one of first.slice(5)) end(one, 'failed');
    const [trial, ...more] = lanes.next();
    expect(more).toHaveLength(0);
    end(trial!, 'failed');
    const [second] = lanes.next();
    end(second!, 'succeeded');
    expect(lanes.next()).toHaveLength(16);
  });

  it('keeps its failures over a sleep and a restart', () => {
    const { lanes, queue } = open();
    queue.failures.set(1, 7);
    queue.add(1, 3);
    lanes.wake(1);
    expect(lanes.next()).toHaveLength(1);
  });

  it('does not take a delivery again while its result is not committed', () => {
    const { lanes, queue } = open();
    const [one] = queue.add(1);
    lanes.wake(1);
    expect(lanes.next()).toEqual([one]);
    lanes.ended(one!, 'failed');
    lanes.wake(1);
    expect(lanes.next()).toEqual([]);
    lanes.settled(one!);
    lanes.wake(1);
    expect(lanes.next()).toEqual([one]);
    lanes.undone(one!);
    expect(lanes.next()).toEqual([one]);
  });

  it('sends a fresh delivery straight from memory unless others wait before it', () => {
    const { lanes, queue } = open({ endpointMax: 2 });
    const made = queue.add(1, 4);
    expect(made.map((one) => lanes.offer(one))).toEqual([true, true, false, false]);
    expect(queue.takes).toBe(0);
    lanes.ended(made[0]!, 'succeeded');
    const [late] = queue.add(1);
    expect(lanes.offer(late!)).toBe(false);
    expect(lanes.next()).toEqual([made[2]]);
  });
});

describe('all together', () => {
  it('stay within their bounds, of attempts and of bytes', () => {
    for (const limits of [{ inFlightMax: 40 }, { bytesMax: 400 }]) {
      const { lanes, queue } = open(limits);
      for (let no = 1; no <= 20; no++) {
        queue.add(no, 50);
        lanes.wake(no);
      }
      lanes.next();
      // One more turn of a lane goes over the bytes.
      expect(lanes.flying).toBeLessThanOrEqual(40 + 16);
      expect(lanes.flying).toBeGreaterThanOrEqual(20);
    }
  });

  it('start the first attempt of a healthy endpoint though hundreds hang', () => {
    const { lanes, queue } = open({ inFlightMax: 400 });
    for (let no = 1; no <= 100; no++) {
      queue.add(no, 50);
      lanes.wake(no);
    }
    const hanging = lanes.next();
    expect(hanging.length).toBeGreaterThanOrEqual(300);
    for (let no = 101; no <= 180; no++) {
      const [one] = queue.add(no);
      expect(lanes.offer(one!)).toBe(true);
    }
    // Those that wait get the room that others leave, each its turn.
    for (const one of hanging.slice(0, 100)) lanes.undone(one);
    const next = lanes.next();
    expect(new Set(next.map(({ endpointNo }) => endpointNo)).size).toBeGreaterThan(10);
  });

  it('start nothing while they are held', () => {
    const { lanes, queue } = open();
    queue.add(1);
    lanes.hold();
    lanes.wake(1);
    expect(lanes.next()).toEqual([]);
    lanes.release();
    expect(lanes.next()).toHaveLength(1);
  });

  it('send everything once, whatever the order of ends, failures and sleeps', () => {
    const act = fc.record({
      kind: fc.constantFrom('add', 'offer', 'next', 'end', 'fail', 'undo', 'settle', 'rest'),
      at: fc.nat(1_000),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 120 }), (acts) => {
        const { lanes, queue } = open({ endpointMax: 3, inFlightMax: 8 });
        const flying: Sendable[] = [];
        const settling: Sendable[] = [];
        const sent = new Set<number>();
        let made = 0;
        const take = (list: Sendable[], at: number): Sendable | undefined =>
          list.splice(at % Math.max(1, list.length), 1)[0];
        const step = ({ kind, at }: { kind: string; at: number }): void => {
          const endpointNo = (at % 5) + 1;
          if (kind === 'add' || kind === 'offer') {
            const [one] = queue.add(endpointNo);
            made += 1;
            if (kind === 'add') lanes.wake(endpointNo);
            else if (lanes.offer(one!)) flying.push(one!);
          }
          if (kind === 'next') flying.push(...lanes.next());
          if (kind === 'settle' || kind === 'end') {
            const one = take(settling, at);
            if (one !== undefined) {
              queue.done(one);
              sent.add(one.no);
              lanes.settled(one);
            }
          }
          if (kind === 'end' || kind === 'fail' || kind === 'undo') {
            const one = take(flying, at);
            if (one === undefined) return;
            if (kind === 'undo') return lanes.undone(one);
            lanes.ended(one, kind === 'end' ? 'succeeded' : 'failed');
            settling.push(one);
          }
          if (kind === 'rest') for (const no of lanes.idle(0)) lanes.rested(no);
        };
        for (const one of acts) {
          step(one);
          expect(new Set(flying.map(({ no }) => no)).size).toBe(flying.length);
          expect(flying.length).toBe(lanes.flying);
          expect(lanes.flying).toBeLessThanOrEqual(8);
          for (let no = 1; no <= 5; no++) {
            expect(flying.filter(({ endpointNo }) => endpointNo === no).length).toBeLessThanOrEqual(
              3,
            );
          }
        }
        for (let at = 0; sent.size < made && at < 2_000; at++) {
          for (const kind of ['next', 'end', 'settle']) step({ kind, at: 0 });
        }
        expect(sent.size).toBe(made);
      }),
      { numRuns: 200 },
    );
  });
});
