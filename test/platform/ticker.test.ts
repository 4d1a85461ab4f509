/** Work that repeats never overlaps itself, and logs the first failure and the recovery. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Failure } from '../../src/model/failure.ts';
import { createLog } from '../../src/platform/log.ts';
import { Ticker } from '../../src/platform/ticker.ts';

const lines: string[] = [];
const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line).msg) });
const create = (run: () => Promise<unknown> | void): Ticker =>
  new Ticker({
    everyMs: 1_000,
    run,
    log,
    failed: 'work failed, retrying',
    resumed: 'work resumed',
  });

beforeEach(() => {
  lines.length = 0;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('the next run begins everyMs after the end of the last one, which runNow joins', async () => {
  const ends: Array<() => void> = [];
  const ticker = create(() => new Promise<void>((resolve) => ends.push(resolve)));
  ticker.start();
  await vi.advanceTimersByTimeAsync(999);
  expect(ends.length).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(ends.length).toBe(1);
  await vi.advanceTimersByTimeAsync(5_000);
  const both = Promise.all([ticker.runNow(), ticker.runNow()]);
  expect(ends.length).toBe(1);
  ends[0]?.();
  await both;
  await vi.advanceTimersByTimeAsync(999);
  expect(ends.length).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(ends.length).toBe(2);
  ends[1]?.();
  await ticker.close();
});

test('failures in a row are logged once, and the recovery once', async () => {
  let isBroken = true;
  const ticker = create(() => {
    if (isBroken) throw new Error('disk full');
  });
  await ticker.runNow();
  await vi.advanceTimersByTimeAsync(3_000);
  expect(lines).toEqual(['work failed, retrying']);
  isBroken = false;
  await vi.advanceTimersByTimeAsync(3_000);
  expect(lines).toEqual(['work failed, retrying', 'work resumed']);
  isBroken = true;
  await ticker.runNow();
  expect(lines.at(-1)).toBe('work failed, retrying');
  await ticker.close();
});

test('where another machine leads nothing is wrong', async () => {
  const notActive = new Failure('not_active', 'another machine leads');
  let error: Error | undefined;
  const ticker = create(() => {
    if (error !== undefined) throw error;
  });
  const logged: number[] = [];
  for (error of [notActive, undefined, new Error('a defect'), notActive, undefined]) {
    await ticker.runNow();
    logged.push(lines.length);
  }
  expect(logged).toEqual([0, 0, 1, 1, 2]);
  expect(lines).toEqual(['work failed, retrying', 'work resumed']);
});

test('close waits for the run in progress, and no run follows', async () => {
  let runs = 0;
  let isEnded = false;
  const gate = Promise.withResolvers<void>();
  const ticker = create(async () => {
    runs += 1;
    await gate.promise;
    isEnded = true;
  });
  void ticker.runNow();
  const closed = ticker.close();
  gate.resolve();
  await closed;
  expect(isEnded).toBe(true);
  ticker.start();
  await ticker.runNow();
  await vi.advanceTimersByTimeAsync(5_000);
  expect([runs, vi.getTimerCount()]).toEqual([1, 0]);
});
