/** What a workspace and a watch keep at most. */
import { expect, test } from 'vitest';
import { incidentsKept, type WatchFindings } from '../../src/model/watches/watch.ts';
import { concludeTargets } from '../../src/watches/conclusions.ts';
import { hourMs, noonMs, openWatchesFixture } from './watches-fixture.ts';

test('the newest incidents are kept, and an open one before those that have ended', async () => {
  const fixture = await openWatchesFixture();
  const { store } = fixture.app;
  const { watches, incidents } = fixture.app.watches;
  const watch = watches.get(1, await fixture.watch({ silentHours: 5 }));
  const spike = {
    kind: 'spiking',
    name: 'Poster',
    sinceMs: noonMs,
    expected: 2,
    seen: 40,
  } as const;
  const begun = await store.environment.transaction(() =>
    Array.from({ length: incidentsKept + 5 }, (_, at) => {
      const id = incidents.begin(watch, spike);
      if (at > 0) incidents.end(watch, id, 'recovered');
      return id;
    }),
  );
  const all = { limit: incidentsKept + 10, isOpen: false };
  const kept = incidents.page(1, all, () => true).data.map(({ id }) => id);
  expect(kept.toReversed()).toEqual([begun[0], ...begun.slice(6)]);
  const open = incidents.page(1, { ...all, isOpen: true }, () => true).data;
  expect(open.map(({ id }) => id)).toEqual([begun[0]]);
});

test('a watch notes a bounded number of targets that fail, and the next when one recovers', () => {
  const failed = (count: number, from = 0, atMs = noonMs) =>
    Array.from({ length: count }, (_, at) => ({
      url: `https://example.com/${from + at}`,
      atMs,
      result: { is: 'failing', fault: 'dns' } as const,
    }));
  let begun = 0;
  const writer = { begin: () => `inc_${(begun += 1)}`, end: () => undefined };
  const none: WatchFindings = { gaps: [], failing: [] };
  const first = concludeTargets(none, failed(30), noonMs, writer);
  expect(first.failing.map(({ url }) => url)).toEqual(failed(20).map(({ url }) => url));
  const laterMs = noonMs + hourMs;
  const answers = {
    url: 'https://example.com/0',
    atMs: laterMs,
    result: { is: 'answering' },
  } as const;
  const second = concludeTargets(first, [answers, ...failed(29, 1, laterMs)], laterMs, writer);
  expect([begun, second.failing.length]).toEqual([19, 20]);
  expect(second.failing.at(-1)).toEqual({ url: 'https://example.com/20', sinceMs: laterMs });
});
