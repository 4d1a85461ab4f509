import { expect, it } from 'vitest';
import { StandbyWatch } from '../../../src/cluster/log/standby-watch.ts';
import type { Applied } from '../../../src/cluster/log/applied-reports.ts';

it('only a standby that has all that the leader has is one that follows', () => {
  let tell: (applied: Applied) => void = () => undefined;
  const got: Applied[] = [];
  let nowMs = 1_000;
  let isLeading = false;
  let position: Applied = { epoch: 1, n: 5 };
  const watch = new StandbyWatch({
    reports: {
      report: (applied) => void got.push(applied),
      listen: (listener) => {
        tell = listener;
        return () => undefined;
      },
    },
    timers: { monotonicMs: () => nowMs },
    position: () => position,
    isLeading: () => isLeading,
  });
  watch.listen((applied) => void got.push(applied));
  nowMs = 9_000;
  expect([watch.silentMs, watch.problem]).toEqual([0, undefined]);
  isLeading = true;
  watch.changed();
  nowMs = 10_999;
  expect(watch.problem).toBeUndefined();
  nowMs = 11_000;
  expect(watch.problem).toMatch(/for 2 s, and cluster.ack is standby$/);
  tell({ epoch: 1, n: 5 });
  expect([watch.silentMs, watch.problem]).toEqual([0, undefined]);
  // One that beats, and cannot store anything more.
  position = { epoch: 1, n: 6 };
  for (let beat = 0; beat < 8; beat++) {
    nowMs += 500;
    tell({ epoch: 1, n: 5 });
  }
  expect([watch.silentMs, watch.problem]).toEqual([4_000, expect.stringContaining('for 4 s')]);
  tell({ epoch: 1, n: 6 });
  expect(watch.problem).toBeUndefined();
  nowMs += 60_000;
  isLeading = false;
  watch.changed();
  expect([watch.silentMs, watch.problem]).toEqual([0, undefined]);
  expect(got).toHaveLength(10);
});
