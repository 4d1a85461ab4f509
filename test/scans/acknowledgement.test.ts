/** Answers that wait until brokers have their scans: each once, in order, and none for long. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Acknowledgement } from '../../src/scans/journal/acknowledgement.ts';
import { JournalPositions } from '../../src/scans/journal/positions.ts';
import { soon } from '../support/soon.ts';

let nowMs = 0;
let answered: number[] = [];
let brokers: JournalPositions;
let waiting: Acknowledgement;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  nowMs = 0;
  answered = [];
  brokers = new JournalPositions();
  const clock = { now: () => nowMs, monotonicMs: () => nowMs };
  const acknowledged = new JournalPositions(brokers.memory);
  waiting = new Acknowledgement({ journal: 7, acknowledged, clock });
});
afterEach(() => void vi.useRealTimers());

const hold = (position: number, scans = 1): void =>
  waiting.hold(position, scans, () => void answered.push(position));
function pass(ms: number): void {
  nowMs += ms;
  vi.advanceTimersByTime(ms);
}
/** Of real time: a thread that sleeps is woken in its next events. */
const answers = (wanted: readonly number[]): Promise<void> =>
  vi.waitFor(() => expect(answered).toEqual(wanted), soon);
const someEvents = async (): Promise<void> => {
  for (let at = 0; at < 20; at++) await new Promise((resolve) => setImmediate(resolve));
};

it('answers what is acknowledged, oldest first, and holds the rest', async () => {
  for (const position of [10, 20, 30]) hold(position);
  brokers.publish(6, 100);
  await someEvents();
  expect(answered).toEqual([]);
  brokers.publish(7, 25);
  await answers([10, 20]);
  await someEvents();
  expect(answered).toEqual([10, 20]);
  brokers.publish(7, 30);
  await answers([10, 20, 30]);
  expect([waiting.unreplicatedScans, brokers.isAwaited]).toEqual([0, false]);
});

it('answers at once what brokers have already, and goes on after it', async () => {
  brokers.publish(7, 20);
  hold(20);
  expect(answered).toEqual([20]);
  hold(40);
  brokers.publish(7, 40);
  await answers([20, 40]);
});

it('what is held for a second is answered, and counted with its scans', async () => {
  hold(10, 3);
  pass(600);
  hold(20, 5);
  pass(399);
  expect(answered).toEqual([]);
  pass(1);
  expect([answered, waiting.unreplicatedScans]).toEqual([[10], 3]);
  brokers.publish(7, 20);
  await answers([10, 20]);
  pass(5_000);
  expect(waiting.unreplicatedScans).toBe(3);
  hold(30, 7);
  pass(1_000);
  expect([answered.at(-1), waiting.unreplicatedScans]).toEqual([30, 10]);
  // Woken late, by what nobody waits for any more.
  brokers.publish(7, 30);
  await someEvents();
  hold(40);
  brokers.publish(7, 50);
  await answers([10, 20, 30, 40]);
});

it('what was acknowledged when its time is over is not counted', () => {
  hold(10);
  brokers.publish(7, 10);
  pass(1_000);
  expect([answered, waiting.unreplicatedScans]).toEqual([[10], 0]);
});

it('an answer may hold the next one', async () => {
  waiting.hold(10, 1, () => {
    answered.push(10);
    hold(20);
  });
  brokers.publish(7, 10);
  await answers([10]);
  brokers.publish(7, 20);
  await answers([10, 20]);
});
