/**
 * Fifty endpoints of which ten hang, the thousand of `bench/loads/deliver/crowd.ts` in small: the others' first
 * attempts do not wait for a deadline, retries keep their schedule, everything arrives. And an endpoint with a backlog
 * larger than what is held in memory: it outlives a restart, and is sent once and in order when the endpoint answers.
 */
import { expect, it } from 'vitest';
import { Arena } from '../../bench/loads/arena.ts';
import { formatBacklog, measureBacklog } from '../../bench/loads/deliver/backlog.ts';
import { formatCrowd, measureCrowd } from '../../bench/loads/deliver/crowd.ts';

const bounds = {
  endpoints: 50,
  hangEvery: 5,
  rounds: 2,
  everyMs: 200,
  deadlineMs: 6_000,
  retryDelayMs: 1_000,
};

/** A delivery that waits for one that hangs takes at least this long: the other began at most so much earlier. */
const hangsMsMin = bounds.deadlineMs - bounds.rounds * bounds.everyMs;

it.concurrent(
  'delivers to forty as if the ten that hang were not there',
  { timeout: 180_000 },
  async () => {
    const arena = new Arena();
    try {
      const crowd = await measureCrowd(arena, bounds);
      process.stdout.write(`${formatCrowd(crowd, bounds)}\n`);
      expect(crowd).toMatchObject({ missing: 0, altered: 0, expected: 100 });
      expect(crowd.held).toBeGreaterThanOrEqual(20);
      // A machine whose cores others use is slow in both halves.
      expect(crowd.hanging.p99Ms).toBeLessThan(Math.max(hangsMsMin, 3 * crowd.without.p99Ms));
      expect(crowd.soonestMsMax).toBeGreaterThanOrEqual(bounds.retryDelayMs);
      expect(crowd.firstRetryMs).toHaveLength(10);
    } finally {
      await arena.close();
    }
  },
);

const backlogBounds = {
  count: 10_000,
  rounds: 10,
  everyMs: 20,
  // On a machine whose cores others use a healthy receiver may take half a second.
  deadlineMs: 3_000,
  retryDelayMs: 2_000,
  isTaken: true,
};

it.concurrent('keeps a backlog over a restart, in order', { timeout: 180_000 }, async () => {
  const arena = new Arena();
  try {
    const backlog = await measureBacklog(arena, backlogBounds);
    process.stdout.write(`${formatBacklog(backlog, backlogBounds)}\n`);
    const outstanding = backlogBounds.count + backlogBounds.rounds;
    expect(backlog.waiting).toEqual([outstanding, outstanding]);
    expect(backlog.taking).toMatchObject({ missing: 0, repeated: 0, disordered: 0 });
  } finally {
    await arena.close();
  }
});
