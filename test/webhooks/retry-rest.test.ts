/** The retry scheduler by its own timer: without work it ticks once a second, and retries are still sent at their time. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { openHarness } from './webhooks-harness.ts';

/** A bucket, a tick, and a step of this test; jitter is 5 % here. */
const lateMsMax = 300;
const stepMs = 25;

it('sends a retry at its time, scheduled before or while it rests', async () => {
  const harness = await openHarness({ retryDelaysMs: [200, 10_000] });
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
  // At three times within the second between two ticks.
  for (let pause = 3_000; pause < 3_900; pause += 300) {
    await pass(pause);
    sender.sent.length = 0;
    await harness.emit();
    await pass(4_000);
    refreshes.mockClear();
    await pass(5_000);
    // One of the tick and one of the dispatcher, a second: a tick every 100 ms has 50.
    expect(refreshes.mock.calls.length).toBeLessThan(20);
    await pass(3_000);
    const [first, second, third] = sender.sent.map(({ atMs }) => atMs);
    expect(second! - first!).toBeGreaterThanOrEqual(200);
    expect(second! - first!).toBeLessThan(200 + lateMsMax);
    expect(third! - second!).toBeGreaterThanOrEqual(10_000);
    expect(third! - second!).toBeLessThan(10_500 + lateMsMax);
  }
});
