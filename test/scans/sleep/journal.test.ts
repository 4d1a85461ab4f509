/** When a journal's writer needs no timer, and who says that it needs one again; and that no publish is slept through. */
import { expect, it, onTestFinished } from 'vitest';
import { JournalPositions } from '../../../src/scans/journal/positions.ts';
import { frameOf, temporaryJournal } from '../journal-files.ts';

const segmentMsMax = 60_000;

function openWriter() {
  const journal = temporaryJournal();
  onTestFinished(() => journal.remove());
  const calls = { work: 0 };
  const writer = journal.open({ segmentMsMax, onWork: () => calls.work++ });
  return { writer, calls };
}

it('needs a timer from the first scan until it is synced, and when its segment is old', async () => {
  const { writer, calls } = openWriter();
  expect(writer.idleMs(0)).toBe(Infinity);
  writer.append(frameOf(0, 1), 1);
  writer.append(frameOf(1, 1), 1);
  expect(calls.work).toBe(1);
  writer.rotate(1_000);
  expect(writer.idleMs(1_000)).toBe(0);
  const synced = writer.sync();
  expect(writer.idleMs(1_000)).toBe(0);
  await synced;
  writer.append(frameOf(2, 1), 1);
  expect([calls.work, writer.idleMs(1_200)]).toEqual([1, 0]);
  await writer.sync();
  expect(writer.idleMs(1_400)).toBe(segmentMsMax - 400);
  writer.append(frameOf(3, 1), 1);
  expect(calls.work).toBe(2);
  await writer.sync();
  writer.rotate(segmentMsMax + 1_000);
  // The segment has ended: its descriptor is closed by the next call.
  expect(writer.idleMs(segmentMsMax + 1_000)).toBe(0);
  await writer.sync();
  expect(writer.idleMs(segmentMsMax + 1_200)).toBe(Infinity);
  await writer.close();
});

it('a sleeper is woken once by the next publish, and not put to sleep behind one', async () => {
  const writers = new JournalPositions();
  const sleepers = [new JournalPositions(writers.memory), new JournalPositions(writers.memory)];
  const woken = sleepers.map(() => 0);
  const sleep = (at: number, seen: number): boolean =>
    sleepers[at]!.sleep(
      () => writers.position(0) > seen,
      () => void woken[at]!++,
    );
  expect(writers.isAwaited).toBe(false);
  // Asked twice, as by a thread that looks now and then: woken once.
  expect([sleep(0, 0), sleep(0, 0), sleep(1, 0), writers.isAwaited]).toEqual(Array(4).fill(true));
  writers.publish(0, 10);
  expect(writers.isAwaited).toBe(false);
  await expect.poll(() => woken).toEqual([1, 1]);
  expect(sleep(0, 0)).toBe(false);
  expect(sleep(0, 10)).toBe(true);
  expect(sleep(1, 10)).toBe(true);
  writers.publish(3, 20);
  await expect.poll(() => woken).toEqual([2, 2]);
});
