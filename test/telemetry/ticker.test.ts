/** Work that repeats never overlaps itself, and logs the first failure and the recovery. */
import { Writable } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Failure } from '../../src/model/failure.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { Ticker } from '../../src/telemetry/ticker.ts';

const lines: string[] = [];
const log = createLog(
  'info',
  new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)).msg);
      done();
    },
  }),
);
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
  let error: Error | undefined = new Failure('not_active', 'another machine leads');
  const ticker = create(() => {
    if (error !== undefined) throw error;
  });
  await ticker.runNow();
  error = undefined;
  await ticker.runNow();
  expect(lines).toEqual([]);
  error = new Error('a defect');
  await ticker.runNow();
  error = new Failure('not_active', 'another machine leads');
  await ticker.runNow();
  error = undefined;
  await ticker.runNow();
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
