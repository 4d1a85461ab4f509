/**
 * The retry scheduler by its own timer: without work it ticks once a second, and a retry is still sent at its time,
 * whether it was scheduled before the rest or comes in the middle of it.
 */
import { onTestFinished, expect, it, vi } from 'vitest';
import { openHarness } from './webhooks-harness.ts';

/** A bucket, a tick, a step of this test, and 10 % of jitter. */
const lateMsMax = 300;
const stepMs = 25;

async function open(retryDelaysMs: readonly number[]) {
  const harness = await openHarness({ retryDelaysMs });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { sender, webhooks, time } = harness;
  sender.answer = () => 500;
  await harness.endpoint();
  await webhooks.start();
  const refreshes = vi.spyOn(webhooks.environment, 'refresh');
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      time.move(stepMs);
      await vi.advanceTimersByTimeAsync(stepMs);
      for (let calm = 0; calm < 3;) {
        // What the tick has written.
        await webhooks.environment.flush();
        await new Promise((resolve) => setImmediate(resolve));
        calm = webhooks.isQuiet && sender.isQuiet ? calm + 1 : 0;
      }
    }
  };
  return { harness, sender, refreshes, pass };
}

it('sends a retry at its time after it has rested', async () => {
  const { harness, sender, refreshes, pass } = await open([10_000]);
  await harness.emit();
  await pass(4_000);
  expect(sender.sent).toHaveLength(1);
  refreshes.mockClear();
  await pass(5_000);
  // One of the tick and one of the dispatcher, a second: a tick every 100 ms has 50.
  expect(refreshes.mock.calls.length).toBeLessThan(20);
  await pass(3_000);
  const [first, second] = sender.sent;
  const waitedMs = second!.atMs - first!.atMs;
  expect(waitedMs).toBeGreaterThanOrEqual(10_000);
  expect(waitedMs).toBeLessThan(11_000 + lateMsMax);
});

it('sends a retry at its time that is scheduled while it rests', async () => {
  const { harness, sender, pass } = await open([200]);
  for (let pause = 3_000; pause < 3_900; pause += 300) {
    await pass(pause);
    sender.sent.length = 0;
    await harness.emit();
    await pass(1_500);
    const [first, second] = sender.sent;
    const waitedMs = second!.atMs - first!.atMs;
    expect(waitedMs).toBeGreaterThanOrEqual(200);
    expect(waitedMs).toBeLessThan(200 + lateMsMax);
  }
});
