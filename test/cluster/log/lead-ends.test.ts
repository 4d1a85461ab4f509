/** A lead ends: the leader gives it away, or reads nothing any more. The lease is 1 s, a beat comes every 200 ms; without a release a standby waits for 1,050 ms. */
import { describe, expect, it } from 'vitest';
import { readEntry } from '../../../src/cluster/log/entry.ts';
import { chain, LeadFixture, other, self } from './lead-fixture.ts';

describe('a leader that gives the lead away', () => {
  it('holds no lease from then on, and sends its release until it counts', async () => {
    const machine = new LeadFixture();
    await machine.leading();
    await machine.until(1_300);
    machine.lead.renounce();
    expect(machine.lead.isHeld).toBe(false);
    expect(machine.events).toEqual(['lapsed at 1300']);
    expect(machine.refusal()).toMatchObject({
      code: 'not_active',
      message: 'Cannot change anything here: no machine leads now',
    });
    // Its beats keep the others from claiming while something is under way; they renew nothing.
    await machine.until(1_500);
    expect(machine.kinds()).toEqual(['lead', 'beat', 'beat']);
    machine.lead.countedBeat(2);
    expect(machine.lead.isHeld).toBe(false);
    machine.lead.release('next');
    await machine.until(1_950);
    expect(machine.kinds().slice(3)).toEqual(['release', 'release', 'release']);
    expect(readEntry(machine.sent[3]!.body)).toEqual({
      head: { version: 1, epoch: 5, n: 0 },
      chain,
      content: { kind: 'release', to: 'next' },
    });
    expect(machine.lead.state).toBe('leader');
    machine.lead.countedRelease('next');
    expect(machine.lead.state).toBe('standby');
    expect(machine.events.at(-1)).toBe('deposed at 1950');
    await machine.until(3_900);
    expect(machine.kinds().slice(6)).toEqual([]);
  });

  it('leads again one lease after the others could', async () => {
    const machine = new LeadFixture();
    await machine.leading();
    machine.lead.renounce();
    machine.lead.release('');
    machine.lead.countedRelease('');
    await machine.until(3_099);
    expect(machine.sentAt('lead')).toEqual([1_050]);
    await machine.until(3_101);
    expect(machine.sentAt('lead')).toEqual([1_050, 3_100]);
    machine.countLead(self);
    expect(machine.lead.isHeld).toBe(true);
    expect(machine.events.at(-1)).toBe('leading at 3101');
  });

  it('whose release is lost is deposed by the lead of another', async () => {
    const machine = new LeadFixture();
    await machine.leading();
    machine.lead.renounce();
    machine.lead.release('');
    await machine.until(2_200);
    machine.countLead(other);
    expect(machine.events).toEqual([
      'lapsed at 1050',
      'lapsed at 2050',
      'lapsed at 2200',
      'deposed at 2200',
    ]);
    await machine.until(3_000);
    expect(machine.kinds().at(-1)).toBe('release');
    expect(machine.sentAt('release').at(-1)).toBeLessThan(2_200);
  });

  it('says so only when the lease of the leader before it has ended', async () => {
    const machine = new LeadFixture();
    await machine.until(1_100);
    machine.lead.counted(undefined);
    machine.countLead(self);
    machine.lead.renounce();
    machine.lead.release('');
    await machine.until(2_149);
    expect(machine.sentAt('release')).toEqual([]);
    expect(machine.sentAt('beat').length).toBeGreaterThan(4);
    await machine.until(2_151);
    expect(machine.sentAt('release')).toEqual([2_150]);
    expect(machine.events).not.toContain('leading at 2150');
  });

  it('whose lease has lapsed gives it away all the same', async () => {
    const machine = new LeadFixture();
    await machine.leading();
    await machine.until(5_000);
    machine.lead.renounce();
    machine.lead.release('');
    expect(machine.kinds().at(-1)).toBe('release');
  });

  it('holds the lease of a later epoch', async () => {
    const machine = new LeadFixture();
    await machine.leading();
    machine.lead.renounce();
    machine.lead.release('');
    machine.countLead(other);
    await machine.until(2_150);
    machine.countLead(self);
    expect(machine.lead.isHeld).toBe(true);
    await machine.until(2_400);
    expect(machine.kinds().at(-1)).toBe('beat');
  });

  it('leaves nothing behind when it stops, and a machine that does not lead gives nothing away', async () => {
    const machine = new LeadFixture();
    machine.lead.renounce();
    machine.lead.release('');
    expect(machine.sent).toEqual([]);
    await machine.leading();
    machine.lead.release('');
    expect(machine.kinds()).toEqual(['lead']);
    machine.lead.renounce();
    machine.lead.release('');
    machine.lead.stop();
    machine.lead.countedRelease('');
    expect(machine.timers.size).toBe(0);
    expect(machine.lead.state).toBe('stopped');
  });
});

describe('a standby whose leader gives the lead away', () => {
  it.each([
    [0, 300],
    [0.5, 325],
    [0.999, 349.95],
  ])('with the draw %d claims at %d ms, and holds the lease at once', async (random, ms) => {
    const machine = new LeadFixture();
    machine.countLead(other);
    await machine.until(300);
    machine.random = random;
    machine.lead.countedRelease('');
    await machine.until(ms - 0.01);
    expect(machine.sent).toEqual([]);
    await machine.until(ms + 0.01);
    expect(machine.kinds()).toEqual(['lead']);
    machine.countLead(self);
    expect(machine.lead.isHeld).toBe(true);
  });

  it('claims at once where it is named, and after a silence where another is', async () => {
    const machine = new LeadFixture();
    machine.random = 0.5;
    await machine.until(300);
    machine.lead.countedRelease('self');
    await machine.until(300);
    expect(machine.kinds()).toEqual(['lead']);
    const unnamed = new LeadFixture();
    await unnamed.until(300);
    unnamed.lead.countedRelease('other');
    await unnamed.until(1_349);
    expect(unnamed.sent).toEqual([]);
    await unnamed.until(1_351);
    expect(unnamed.kinds()).toEqual(['lead']);
  });

  it('is not held up by what comes after the release: it again, and late beats', async () => {
    const machine = new LeadFixture();
    machine.random = 0.8;
    await machine.until(300);
    machine.lead.countedRelease('');
    await machine.until(330);
    machine.lead.countedRelease('');
    machine.lead.countedRelease('other');
    machine.lead.countedBeat(3);
    await machine.until(341);
    expect(machine.kinds()).toEqual(['lead']);
    machine.lead.countedBeat(4);
    expect(machine.lead.state).toBe('candidate');
  });

  it('does not claim while it is not at the end', async () => {
    const machine = new LeadFixture();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    machine.isAtEnd = () => promise;
    machine.lead.countedRelease('');
    await machine.until(10);
    resolve(false);
    await machine.until(100);
    expect(machine.sent).toEqual([]);
    machine.isAtEnd = () => Promise.resolve(true);
    await machine.until(301);
    expect(machine.kinds()).toEqual(['lead']);
  });

  it('waits for a whole silence again when another leads, also where the log was asked before', async () => {
    const machine = new LeadFixture();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    machine.isAtEnd = () => promise;
    machine.lead.countedRelease('');
    await machine.until(10);
    machine.countLead(other);
    resolve(true);
    await machine.until(1_059);
    expect(machine.sent).toEqual([]);
    await machine.until(1_300);
    expect(machine.kinds()).toEqual(['lead']);
    machine.lead.counted(undefined);
    machine.countLead(self);
    // The release was of another epoch: this leader's lease is waited for.
    expect(machine.lead.isHeld).toBe(false);
  });

  it('that is a candidate by then goes on, and holds the lease at once', async () => {
    const machine = new LeadFixture();
    await machine.until(1_100);
    machine.lead.countedRelease('other');
    expect(machine.lead.state).toBe('candidate');
    machine.countLead(self);
    expect(machine.lead.isHeld).toBe(true);
    expect(machine.events).toEqual(['leading at 1100']);
  });
});

/** Its beats arrive, but it does not read them in time: it must let the others lead, and stops sending beats. */
describe('an unread leader', () => {
  it.each([
    ['is not read to its end', () => Promise.resolve(false)],
    ['does not answer', () => Promise.reject(new Error('away'))],
  ])(
    'a leader whose lease ended one lease ago sends no beat while the log %s',
    async (_, isAtEnd) => {
      const machine = new LeadFixture();
      await machine.leading();
      machine.isAtEnd = isAtEnd;
      await machine.until(2_040);
      expect(machine.lead.isHeld).toBe(true);
      await machine.until(3_040);
      expect(machine.sentAt('beat').at(-1)).toBe(2_850);
      await machine.until(9_000);
      expect(machine.sentAt('beat').at(-1)).toBe(2_850);
      machine.isAtEnd = () => Promise.resolve(true);
      await machine.until(9_300);
      expect(machine.sentAt('beat').at(-1)).toBeGreaterThan(9_000);
      machine.lead.stop();
      expect(machine.timers.size).toBe(0);
    },
  );

  it('a leader that reads each beat after its lease has ended sends no more of them', async () => {
    const machine = new LeadFixture();
    await machine.leading();
    machine.isAtEnd = () => Promise.resolve(false);
    for (let count = 1; count <= 10; count++) {
      // The beat that was sent 1.3 s ago.
      await machine.until(2_550 + 200 * (count - 1));
      machine.lead.countedBeat(count);
      expect(machine.lead.isHeld).toBe(false);
    }
    expect(machine.sentAt('beat').at(-1)).toBeLessThan(3_050);
  });

  it('a leader that was stopped while the log is asked sends no beat', async () => {
    const machine = new LeadFixture();
    await machine.leading();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    machine.isAtEnd = () => promise;
    await machine.until(4_000);
    const beats = machine.sentAt('beat').length;
    machine.lead.stop();
    resolve(true);
    await machine.until(5_000);
    expect(machine.sentAt('beat')).toHaveLength(beats);
  });
});

it('a standby is current for a lease after an entry of its leader', async () => {
  const machine = new LeadFixture();
  machine.countLead(other);
  await machine.until(700);
  machine.lead.countedBeat(1);
  await machine.until(1_699);
  expect(machine.lead.isCurrent).toBe(true);
  await machine.until(1_701);
  expect(machine.lead.isCurrent).toBe(false);
  machine.lead.countedBeat(2);
  expect(machine.lead.isCurrent).toBe(true);
  machine.lead.stop();
  expect(machine.lead.isCurrent).toBe(false);
});
