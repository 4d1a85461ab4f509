/** Work that repeats: one run at a time, one log line for any number of failures in a row. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLog } from '../../src/telemetry/log.ts';
import { Ticker } from '../../src/telemetry/ticker.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const everyMs = 1_000;

function openTicker(run: () => Promise<void>) {
  const lines: string[] = [];
  const log = createLog('debug', { write: (line) => void lines.push(line) });
  const ticker = new Ticker({ everyMs, run, log, failed: 'failed', resumed: 'resumed' });
  const messages = () => lines.map((line): unknown => JSON.parse(line).msg);
  return { ticker, messages };
}

it('begins the next run after the last one has ended, and joins the one in progress', async () => {
  const ends: Array<() => void> = [];
  const { ticker } = openTicker(() => new Promise((resolve) => ends.push(resolve)));
  ticker.start();
  await vi.advanceTimersByTimeAsync(everyMs);
  expect(ends).toHaveLength(1);
  const joined = ticker.runNow();
  await vi.advanceTimersByTimeAsync(10 * everyMs);
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await joined;
  await vi.advanceTimersByTimeAsync(everyMs);
  expect(ends).toHaveLength(2);
  const closed = ticker.close();
  ends[1]?.();
  await closed;
  ticker.start();
  await vi.advanceTimersByTimeAsync(10 * everyMs);
  expect(ends).toHaveLength(2);
});

it('logs the first failure of a row and the first success after it, and goes on', async () => {
  const outcomes = ['ok', 'bad', 'bad', 'ok', 'ok', 'bad'];
  const { ticker, messages } = openTicker(async () => {
    if (outcomes.shift() === 'bad') throw new Error('no space');
  });
  await ticker.runNow();
  await vi.advanceTimersByTimeAsync(5 * everyMs);
  expect(outcomes).toEqual([]);
  expect(messages()).toEqual(['failed', 'resumed', 'failed']);
  await ticker.close();
});
