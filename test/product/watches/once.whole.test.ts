/**
 * Once per incident, whatever happens: random hours with and without scans, targets that fail and answer, restarts,
 * changes of the watch, and two schedulers that look at the same time, as when a deposed leader does not know yet.
 */
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { dayMs } from '../../../src/model/day.ts';
import type { TargetAnswer } from '../../../src/model/watches/watch.ts';
import { Metrics } from '../../../src/platform/metrics.ts';
import { openWatches, type WatchServices } from '../../../src/product/watches/open-watches.ts';
import { startMailServer } from '../../support/fakes/mail-server.ts';
import { hourMs, noonMs, openWatchesFixture, type WatchesFixture } from './watches-fixture.ts';
import { runs } from '../../seconds/runs.ts';

const steps = [
  'quiet',
  'scans',
  'burst',
  'fails',
  'answers',
  'restart',
  'change',
  'pause',
] as const;
type Step = (typeof steps)[number];

/** A second scheduler over the same stores. */
function openRival({ app, scans, counting }: WatchesFixture): WatchServices {
  return openWatches({
    ...app.base,
    codes: app.codes,
    scans: scans.analytics,
    metrics: new Metrics(() => undefined),
    counting: { mark: () => ({ isPast: () => counting.isPrompt }) },
    isWell: () => true,
    emails: undefined,
    checker: { check: async () => answer, close: async () => undefined },
  });
}

let answer: TargetAnswer = { status: 200 };

/** @returns events of each kind */
async function run(given: readonly Step[]): Promise<number[]> {
  answer = { status: 200 };
  const fixture = await openWatchesFixture({
    checker: { check: async () => answer, close: async () => undefined },
  });
  const { id, no } = await fixture.code();
  fixture.scans.steady(no, noonMs - 56 * dayMs, noonMs, 8);
  const watch = await fixture.watch({
    subject: { kind: 'code', id },
    silentHours: 2,
    spikeFactor: 3,
    target: true,
  });
  await fixture.evaluate();
  let rival = openRival(fixture);
  let hours = 2;
  for (const step of given) {
    const { app } = fixture;
    if (step === 'scans') fixture.scans.add(no, app.clock.now(), 8);
    if (step === 'burst') fixture.scans.add(no, app.clock.now(), 90);
    if (step === 'fails') answer = { status: 500 };
    if (step === 'answers') answer = { status: 200 };
    if (step === 'change') {
      hours = 5 - hours;
      await app.watches.watches.change(fixture.actor, watch, { silentHours: hours });
    }
    if (step === 'pause') {
      const isPaused = app.codes.find(1, id)?.routing?.paused === true;
      await app.codes.change(fixture.actor, id, { paused: !isPaused });
    }
    if (step === 'restart') {
      await rival.close();
      await fixture.restart();
      rival = openRival(fixture);
    }
    const both = (): Promise<unknown> => Promise.all([fixture.evaluate(), rival.scheduler.tick()]);
    await fixture.pass(hourMs / 2);
    await both();
    await fixture.pass(hourMs / 2);
    await both();
    await rival.scheduler.settled();
    check(fixture, watch);
  }
  await rival.close();
  const kinds = ['qr.silent', 'qr.spiked', 'qr.target_failed', 'qr.target_recovered'] as const;
  const told = kinds.map((kind) => fixture.emitted(kind).length);
  await fixture.app.close();
  return told;
}

function check(fixture: WatchesFixture, watchId: string): void {
  const { incidents, watches } = fixture.app.watches;
  const all = incidents.page(1, { limit: 1_000, isOpen: false }, () => true).data;
  const open = incidents.page(1, { limit: 1_000, isOpen: true }, () => true).data;
  const idsOf = (kind: Parameters<WatchesFixture['emitted']>[0]): unknown[] =>
    fixture.emitted(kind).map(({ incidentId }) => incidentId);
  const kinds = {
    silent: 'qr.silent',
    spiking: 'qr.spiked',
    target_failing: 'qr.target_failed',
  } as const;
  for (const kind of ['silent', 'spiking', 'target_failing'] as const) {
    const begun = all.filter((one) => one.kind === kind).map((one) => one.id);
    expect(idsOf(kinds[kind])).toEqual(begun.toReversed());
    expect(open.filter((one) => one.kind === kind).length).toBeLessThanOrEqual(1);
  }
  const recovered = all.filter(
    ({ kind, endedBy }) => kind === 'target_failing' && endedBy === 'recovered',
  );
  expect(idsOf('qr.target_recovered')).toEqual(recovered.map(({ id }) => id).toReversed());
  expect(all.filter(({ endedAtMs }) => endedAtMs === undefined)).toEqual(open);
  const { silent, spiking, failing } = watches.findingsOf(watchId);
  const known = [silent, spiking, ...failing].flatMap((one) => one?.incidentId ?? []);
  expect(known.toSorted()).toEqual(open.map(({ id }) => id).toSorted());
}

test('each incident is emitted once, and each is one of the list', async () => {
  const walks = fc.array(fc.constantFrom(...steps, 'quiet', 'quiet', 'fails'), {
    minLength: 5,
    maxLength: 14,
  });
  await fc.assert(
    fc.asyncProperty(walks, async (walk) => void (await run(walk))),
    { numRuns: runs(3) },
  );
});

test('a walk through all of it tells each kind', async () => {
  const quiet = Array.from({ length: 3 }, () => 'quiet' as const);
  const fails = Array.from({ length: 25 }, () => 'scans' as const);
  const [silent, spiked, failed, recovered] = [
    await run([...quiet, 'scans']),
    await run(['scans', 'burst', 'scans', 'scans']),
    await run(['scans', 'fails', ...fails, 'restart', 'scans']),
    await run(['scans', 'fails', ...fails, 'restart', 'answers', 'scans']),
  ];
  expect(silent).toEqual([1, 0, 0, 0]);
  expect(spiked).toEqual([0, 1, 0, 0]);
  expect(failed).toEqual([0, 0, 1, 0]);
  expect(recovered).toEqual([0, 0, 1, 1]);
});

test('a mail says which, and leads to its page', async () => {
  const mails = await startMailServer();
  onTestFinished(() => mails.close());
  const fixture = await openWatchesFixture({ environment: mails.environment });
  const { id, no } = await fixture.code();
  fixture.scans.steady(no, noonMs - 56 * dayMs, noonMs, 8);
  await fixture.watch({ subject: { kind: 'code', id }, silentHours: 2, mail: true });
  await fixture.evaluate();
  for (let hour = 0; hour < 3; hour++) await fixture.pass(hourMs);
  const mail = await mails.next();
  expect(mail.to).toEqual([fixture.app.first.user.email]);
  expect(mail.source).toContain('Subject: No scans: Poster');
  expect(mail.source).toContain(`/codes/${id}`);
});
