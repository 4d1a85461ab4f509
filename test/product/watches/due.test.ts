/** What is kept, what is due, and that nothing that is slow or damaged keeps others from being looked at. */
import { expect, it, onTestFinished, test } from 'vitest';
import {
  incidentsKept,
  type TargetChecker,
  type WatchFindings,
  type WatchRules,
  watchStateOf,
} from '../../../src/model/watches/watch.ts';
import { concludeTargets, resultOf } from '../../../src/product/watches/conclusions.ts';
import { damage } from '../codes/codes-fixture.ts';
import { startMailServer } from '../../support/fakes/mail-server.ts';
import { timersOf } from '../../store/timers.ts';
import { hourMs, noonMs, openWatchesFixture } from './watches-fixture.ts';

const answering: TargetChecker = {
  check: async () => ({ status: 200 }),
  close: async () => undefined,
};

test.each(['watches', 'watch_findings'])('damaged %s keep no other waiting', async (table) => {
  const fixture = await openWatchesFixture({ checker: answering });
  for (let no = 0; no < 20; no++) await fixture.watch({ silentHours: 5, target: true });
  fixture.app.clock.move(1);
  const sound = await fixture.watch({ silentHours: 5, target: true });
  await damage(fixture.app, table, (key) => !key.includes(sound));
  await fixture.restart();
  await fixture.pass(1_000);
  await fixture.pass(10_000);
  const { store, clock, watches } = fixture.app;
  for (const timers of [store.watches.scansDue, store.watches.targetDue]) {
    expect(timers.at(sound)).toBeGreaterThan(clock.now());
    expect(timersOf(timers)).toHaveLength(21);
  }
  expect(watches.scheduler.behindMs).toBe(0);
});

test('a watch of a damaged code is asked for an hour later', async () => {
  const fixture = await openWatchesFixture({ checker: answering });
  const { id } = await fixture.code();
  const watch = await fixture.watch({ subject: { kind: 'code', id }, target: true });
  await damage(fixture.app, 'codes', () => true);
  await fixture.restart({ checker: answering });
  await fixture.evaluate();
  const { targetDue } = fixture.app.store.watches;
  expect(targetDue.at(watch)).toBe(fixture.app.clock.now() + hourMs);
});

test('former members and damaged users get no alert, and the others do', async () => {
  const mails = await startMailServer();
  onTestFinished(() => mails.close());
  const fixture = await openWatchesFixture({ environment: mails.environment });
  const { app, actor } = fixture;
  const user = { email: 'jane@example.com', name: 'Jane', password: 'a good password' };
  const { users, members } = app.workspaces;
  const { id: jane } = await users.create(1, 'viewer', user);
  const { id: mia } = await users.create(1, 'viewer', { ...user, email: 'mia@example.com' });
  const { id, no } = await fixture.code();
  fixture.scans.steady(no, noonMs - 8 * 7 * 24 * hourMs, noonMs, 8);
  const mailTo = [mia, actor.userId, jane];
  await fixture.watch({ subject: { kind: 'code', id }, silentHours: 2, mailTo });
  await members.remove(actor, mia);
  await damage(fixture.app, 'users', (key) => key.includes(actor.userId));
  await fixture.restart();
  await fixture.evaluate();
  for (let hour = 0; hour < 3; hour++) await fixture.pass(hourMs);
  expect((await mails.next()).to).toEqual([user.email]);
});

test('a workspace with many watches of a slow host leaves rounds to others', async () => {
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const asked = new Set<string>();
  const checker: TargetChecker = {
    check: async ({ url }) => {
      asked.add(new URL(url).host);
      if (url.includes('slow')) await isOver;
      return { status: 200 };
    },
    close: async () => undefined,
  };
  const fixture = await openWatchesFixture({ checker });
  onTestFinished(() => end());
  const { app, actor } = fixture;
  const { watches, scheduler } = app.watches;
  const slow = await fixture.code(10, 'https://slow.example/');
  const subject = { kind: 'code', id: slow.id } as const;
  await Promise.all(Array.from({ length: 600 }, () => fixture.watch({ subject, target: true })));
  app.clock.move(1);
  const { no: workspaceNo } = await app.workspaces.workspaces.create(actor.userId, 'Other');
  const other = { ...actor, workspaceNo };
  const code = await app.codes.create(other, { target: 'https://quick.example/' });
  const quick = { subject: { kind: 'code', id: code.id }, target: true } as const;
  const { id } = await watches.create(other, quick);
  for (let tick = 0; tick < 6; tick++) {
    app.clock.move(5_000);
    await scheduler.tick();
  }
  expect([...asked].toSorted()).toEqual(['quick.example', 'slow.example']);
  await expect.poll(() => watches.findingsOf(id).targetCheckedAtMs).toBeDefined();
  end();
  await scheduler.settled();
  // A quarter of the rounds ended with it.
  const { targetDue } = app.store.watches;
  expect(targetDue.due(app.clock.now() - 1, 1_000).length).toBe(600 - 25);
});

test('an incident ends once; the newest ones are kept, and an open one before those that have ended', async () => {
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
      if (at > 0) incidents.end(watch, id, 'deleted');
      return id;
    }),
  );
  const all = { limit: incidentsKept + 10, isOpen: false };
  const kept = incidents.page(1, all, () => true).data.map(({ id }) => id);
  expect(kept.toReversed()).toEqual([begun[0], ...begun.slice(6)]);
  const open = incidents.page(1, { ...all, isOpen: true }, () => true).data;
  expect(open.map(({ id }) => id)).toEqual([begun[0]]);
  expect(incidents.find(1, begun.at(-1)!)?.endedBy).toBe('recovered');
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

const silent = { incidentId: 'inc_1', sinceMs: 1 };
const scansCheckedAtMs = 5;
const targetCheckedAtMs = 5;
const scans: WatchRules = { silentHours: 5, target: false, mailTo: [] };
const target: WatchRules = { target: true, mailTo: [] };
const both: WatchRules = { spikeFactor: 3, target: true, mailTo: [] };

it.each<[string, WatchRules, Partial<WatchFindings>]>([
  ['pending', scans, {}],
  ['pending', target, { scansCheckedAtMs }],
  ['pending', both, { scansCheckedAtMs }],
  ['silent', both, { scansCheckedAtMs, silent }],
  ['ok', scans, { scansCheckedAtMs }],
  ['ok', target, { targetCheckedAtMs }],
  ['ok', both, { scansCheckedAtMs, targetCheckedAtMs }],
])('%s: %o %o', (state, rules, findings) => {
  expect(watchStateOf(rules, { gaps: [], failing: [], ...findings })).toBe(state);
});

it.each([
  ['connect', false, 'failing'],
  ['connect', true, 'inconclusive'],
  ['blocked_ip', false, 'inconclusive'],
] as const)('a target that cannot be asked by %s (offline: %s) is %s', (failure, isOffline, is) => {
  const result = resultOf({ failure }, isOffline);
  expect(result).toMatchObject(is === 'failing' ? { is, fault: failure } : { is });
});
