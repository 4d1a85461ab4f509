/** Results wait for one another and for nothing else, and survive faults of the journal and of the store. */
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ResultJournal } from '../../src/store/delivery/result-journal.ts';
import { type EndedAttempt, ResultBatcher } from '../../src/webhooks/dispatch/results.ts';
import { temporaryFolder } from '../store/temporary-management.ts';
import { deliveryOf, numberOf } from './delivery-fixture.ts';
import { eventually } from './eventually.ts';
import { toWheelMs } from '../../src/model/wheel-time.ts';

const ended = (no: number): EndedAttempt => ({
  delivery: deliveryOf(no),
  attempt: { atMs: 1, durationMs: 1, status: 200 },
  wheelMs: toWheelMs(no),
  random: 0,
});

class Harness {
  readonly path = join(temporaryFolder(), 'delivery.mdb');
  readonly journal = new ResultJournal(this.path);
  readonly commits: number[][] = [];
  /** Of a clock that goes backwards: after the first commit a batch waits until it is flushed. */
  nowMs = 1e9;
  commit: () => Promise<void> = async () => undefined;
  readonly batcher = new ResultBatcher({
    journal: this.journal,
    nowMs: () => (this.nowMs -= 100_000),
    commit: async (batch) => {
      await this.commit();
      this.commits.push(batch.map(({ delivery }) => numberOf(delivery.id)));
    },
    onCommitted: () => undefined,
    onFault: () => undefined,
  });

  add(...nos: number[]): void {
    for (const no of nos) this.batcher.add(ended(no));
  }
  /** Results that a process that starts now would find. */
  left(): number[] {
    const journal = new ResultJournal(this.path);
    journal.close();
    return journal.uncommitted.map(({ deliveryId }) => numberOf(deliveryId));
  }
}

function openHarness(): Harness {
  const harness = new Harness();
  onTestFinished(async () => await harness.batcher.stop());
  return harness;
}

it('commits the first with what arrives in its cycle, then at the end of the interval; what waits is journaled', async () => {
  const harness = openHarness();
  harness.add(1, 2);
  await eventually(() => harness.batcher.isQuiet, 'the first are committed');
  expect(harness.commits).toEqual([[1, 2]]);
  harness.add(3, 4);
  // By the end of the event loop cycle.
  await Promise.resolve();
  expect(harness.left()).toEqual([3, 4]);
  await new Promise((resolve) => setImmediate(resolve));
  harness.add(5);
  expect(harness.commits).toHaveLength(1);
  harness.batcher.flush();
  await eventually(() => harness.batcher.isQuiet, 'the next are committed');
  expect(harness.commits).toEqual([
    [1, 2],
    [3, 4, 5],
  ]);
  expect(harness.left()).toEqual([]);
});

it('remembers a flush while a commit ran', async () => {
  const harness = openHarness();
  const begun = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  harness.commit = async () => {
    begun.resolve();
    await done.promise;
  };
  harness.add(1);
  await begun.promise;
  harness.add(2);
  harness.batcher.flush();
  done.resolve();
  await eventually(() => harness.batcher.isQuiet, 'both are committed');
  expect(harness.commits).toEqual([[1], [2]]);
});

it('commits what arrives after a stop with the next, and continues without its journal', async () => {
  const harness = openHarness();
  harness.add(1);
  await harness.batcher.stop();
  harness.journal.close();
  harness.add(2);
  await harness.batcher.stop();
  expect(harness.commits).toEqual([[1], [2]]);
});
