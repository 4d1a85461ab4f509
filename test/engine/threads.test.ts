/** Silent shards; a stop before the gate opens. */
import { expect, onTestFinished, test } from 'vitest';
import type { EngineThreads } from '../../src/engine/threads.ts';
import type { Clock } from '../../src/model/clock.ts';
import { soon } from '../support/soon.ts';
import { createThreads } from './engine-threads.ts';
import { temporaryFolder } from '../store/temporary-management.ts';

function openThreads(clock?: Clock): EngineThreads {
  const { store, threads } = createThreads(temporaryFolder(), clock && { clock });
  onTestFinished(() => store.environment.close());
  return threads;
}

test('shards that send no figures are silent, and what they do not count is behind', async () => {
  let nowMs = 0;
  const clock: Clock = { now: () => Date.now(), monotonicMs: () => nowMs };
  const threads = openThreads(clock);
  const problemOf = (named: string): string | undefined =>
    threads.shards.checks.find(({ name }) => name === named)?.problem();
  void threads.shards.boot();
  void threads.shards.start(0);
  threads.journals.tails.publish(0, 1_000);
  threads.shards.lag.sample(nowMs);
  expect([problemOf('counting'), problemOf('lag')]).toEqual([undefined, undefined]);
  nowMs += 60_000;
  expect(problemOf('counting')).toMatch(/no figures for 60 s/);
  expect(problemOf('lag')).toBe('counting is 60 s behind');
  threads.journals.tails.publish(0, 0);
  await expect.poll(() => problemOf('counting'), soon).toBeUndefined();
  await threads.stop();
});

test('redirect threads that are stopped before they may listen never do', async () => {
  const threads = openThreads();
  const { redirects } = threads;
  await redirects.boot();
  await redirects.stop(60_000);
  expect([redirects.port, redirects.states.some(({ isListening }) => isListening)]).toEqual([
    0,
    false,
  ]);
  expect(redirects.states.every(({ figures }) => figures !== undefined)).toBe(true);
  await threads.stop();
});
