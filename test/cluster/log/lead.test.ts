/** The lease is 1 s, a beat comes every 200 ms; a standby waits for 1,050 ms of silence, or as `random` says. */
import { describe, expect, it } from 'vitest';
import { chainBytes, readEntry } from '../../../src/cluster/log/entry.ts';
import { Failure } from '../../../src/model/failure.ts';
import { chain, LeadFixture, other, self } from './lead-fixture.ts';

const nobodyLeads = {
  code: 'not_active',
  message: 'Cannot change anything here: no machine leads now',
};

describe('a standby', () => {
  it.each([
    [0, 1_050],
    [0.5, 1_275],
    [0.999, 1_499.55],
  ])('with the draw %d claims the next epoch after %d ms of silence', async (random, ms) => {
    const machine = new LeadFixture();
    expect(machine.lead.state).toBe('standby');
    machine.random = random;
    machine.countLead(other);
    await machine.until(ms - 0.01);
    expect(machine.sent).toEqual([]);
    await machine.until(ms + 0.01);
    expect(machine.lead.state).toBe('candidate');
    expect(readEntry(machine.sent[0]!.body)).toEqual({
      head: { version: 1, epoch: 6, n: 0 },
      chain,
      content: { kind: 'lead', leader: self, after: 0 },
    });
  });

  it('counts its silence from its start, and from each entry that counts', async () => {
    const machine = new LeadFixture();
    await machine.until(700);
    machine.lead.counted(undefined);
    await machine.until(1_400);
    machine.lead.countedBeat(3);
    await machine.until(2_449);
    expect(machine.sent).toEqual([]);
    await machine.until(2_450);
    expect(machine.sentAt('lead')).toEqual([2_450]);
  });

  it('does not claim while it is not at the end, and asks again every 200 ms', async () => {
    const machine = new LeadFixture();
    machine.isAtEnd = () => Promise.resolve(false);
    await machine.until(1_600);
    expect(machine.asked).toEqual([1_050, 1_250, 1_450]);
    expect(machine.sent).toEqual([]);
    machine.isAtEnd = () => Promise.resolve(true);
    await machine.until(1_650);
    expect(machine.kinds()).toEqual(['lead']);
  });

  it('does not claim while the log does not answer', async () => {
    const machine = new LeadFixture();
    machine.isAtEnd = () => Promise.reject(new Error('no answer'));
    await machine.until(1_600);
    expect(machine.asked).toEqual([1_050, 1_250, 1_450]);
    expect(machine.sent).toEqual([]);
    expect(machine.lead.state).toBe('standby');
  });

  it('does not claim when something counted while the log was asked', async () => {
    const machine = new LeadFixture();
    const answer = await machine.asking();
    machine.lead.countedBeat(1);
    answer(true);
    await machine.until(2_149);
    expect(machine.sent).toEqual([]);
    // It looks every 200 ms after an answer that did not lead to a claim.
    await machine.until(2_350);
    expect(machine.kinds()).toEqual(['lead']);
  });

  it('refuses, and says who leads', async () => {
    const machine = new LeadFixture();
    expect(machine.refusal()).toMatchObject({
      code: 'not_active',
      message: 'Cannot change anything here: no machine leads now',
      retryAfterSeconds: 1,
    });
    machine.countLead(other);
    expect(machine.refusal()).toBeInstanceOf(Failure);
    expect(machine.refusal()).toMatchObject({
      code: 'not_active',
      message: 'Cannot change anything here: http://other leads',
    });
    expect(machine.lead.leader).toEqual(other);
    expect(machine.lead.isHeld).toBe(false);
  });

  it('has one timer at a time, also when a lead counts while the log is asked', async () => {
    const machine = new LeadFixture();
    const answer = await machine.asking();
    machine.random = 0.9;
    machine.countLead(other);
    answer(true);
    await machine.until(1_110);
    expect(machine.timers.size).toBe(1);
    machine.lead.stop();
    expect(machine.timers.size).toBe(0);
  });

  it('a claim ends the wait that began while the log was asked', async () => {
    const machine = new LeadFixture();
    const answer = await machine.asking();
    machine.random = 0.9;
    machine.countLead(other);
    // The question takes longer than a silence.
    await machine.until(2_560);
    answer(true);
    await machine.until(2_570);
    expect(machine.lead.state).toBe('candidate');
    expect(machine.timers.size).toBe(1);
  });
});

describe('a candidate', () => {
  it('leads with its own lead, and opens at once', async () => {
    const machine = new LeadFixture();
    await machine.until(1_100);
    expect(machine.lead.isHeld).toBe(false);
    machine.countLead(self);
    expect(machine.lead.state).toBe('leader');
    expect(machine.lead.leader).toEqual(self);
    expect(machine.events).toEqual(['leading at 1100']);
    expect(machine.refusal()).toBeUndefined();
  });

  it("stands by when another's lead counts, and was never deposed", async () => {
    const machine = new LeadFixture();
    await machine.until(1_100);
    machine.countLead(other);
    expect(machine.lead.state).toBe('standby');
    await machine.until(2_149);
    expect(machine.sentAt('lead')).toEqual([1_050]);
    await machine.until(2_150);
    expect(machine.sentAt('lead')).toEqual([1_050, 2_150]);
    expect(machine.events).toEqual([]);
  });

  it('stands by when an entry of the former leader counts', async () => {
    const machine = new LeadFixture();
    await machine.until(1_100);
    machine.lead.counted(undefined);
    expect(machine.lead.state).toBe('standby');
    await machine.until(2_149);
    expect(machine.kinds()).toEqual(['lead']);
    await machine.until(2_150);
    expect(machine.kinds()).toEqual(['lead', 'lead']);
  });

  it('tries again after 2 s, and its lease runs from the first time', async () => {
    const machine = new LeadFixture();
    await machine.until(3_049);
    expect(machine.lead.state).toBe('candidate');
    await machine.until(3_060);
    expect(machine.sentAt('lead')).toEqual([1_050, 3_050]);
    machine.countLead(self);
    expect(machine.lead.state).toBe('leader');
    // Which of the two counted is not known.
    expect(machine.lead.isHeld).toBe(false);
    await machine.until(3_270);
    expect(machine.kinds().slice(2)).toEqual(['beat']);
    machine.lead.countedBeat(1);
    expect(machine.lead.isHeld).toBe(true);
  });

  it('leads with a lead that comes when it stands by again', async () => {
    const machine = new LeadFixture();
    await machine.until(1_100);
    machine.lead.counted(undefined);
    await machine.until(1_110);
    machine.countLead(self);
    expect(machine.lead.state).toBe('leader');
  });

  it('does not lead with a lead of its name that it has not claimed', async () => {
    const machine = new LeadFixture();
    await machine.until(1_100);
    machine.position = { ...machine.position, epoch: 7 };
    machine.countLead(self);
    expect(machine.lead.state).toBe('standby');
    expect(machine.events).toEqual([]);
  });

  it('waits for the lease of the former leader, and opens then', async () => {
    const machine = new LeadFixture();
    await machine.until(1_100);
    machine.lead.counted(undefined);
    await machine.until(1_110);
    machine.countLead(self);
    for (let count = 1; count <= 4; count++) {
      await machine.until(1_250 + 200 * count);
      machine.lead.countedBeat(count);
    }
    await machine.until(2_149);
    expect(machine.lead.state).toBe('leader');
    expect(machine.lead.isHeld).toBe(false);
    expect(machine.refusal()).toMatchObject(nobodyLeads);
    expect(machine.events).toEqual([]);
    await machine.until(2_150);
    expect(machine.events).toEqual(['leading at 2150']);
    expect(machine.lead.isHeld).toBe(true);
  });

  it('opens although a lead counted while the log was asked', async () => {
    const machine = new LeadFixture();
    const answer = await machine.asking();
    machine.random = 0.99;
    machine.countLead(other);
    answer(true);
    machine.isAtEnd = () => Promise.resolve(true);
    machine.random = 0;
    await machine.until(2_700);
    expect(machine.lead.state).toBe('candidate');
    machine.lead.counted(undefined);
    await machine.until(2_710);
    machine.countLead(self);
    await machine.until(5_000);
    expect(machine.events.filter((event) => event.startsWith('leading'))).toEqual([
      'leading at 3750',
    ]);
  });

  it("does not open when another's lead counts while it waits", async () => {
    const machine = new LeadFixture();
    await machine.until(1_100);
    machine.lead.counted(undefined);
    machine.countLead(self);
    await machine.until(1_500);
    machine.countLead(other);
    await machine.until(2_500);
    expect(machine.events).toEqual(['lapsed at 1500', 'deposed at 1500']);
  });
});

describe('a leader', () => {
  it('holds its lease from when its lead was sent, not from when it was read', async () => {
    const machine = new LeadFixture();
    await machine.until(1_500);
    machine.countLead(self);
    await machine.until(2_049.9);
    expect(machine.lead.isHeld).toBe(true);
    await machine.until(2_050);
    expect(machine.lead.isHeld).toBe(false);
    expect(machine.refusal()).toMatchObject(nobodyLeads);
    await machine.until(4_000);
    expect(machine.events).toEqual(['leading at 1500', 'lapsed at 2050']);
    expect(machine.lead.state).toBe('leader');
  });

  it('renews it by entries that count, from when they were sent', async () => {
    const machine = new LeadFixture();
    await machine.leading();
    await machine.until(1_800);
    machine.lead.counted(machine.startMs + 1_600);
    // An entry that was sent before, and whose time is not known, renew nothing.
    machine.lead.counted(machine.startMs + 1_300);
    machine.lead.counted(undefined);
    await machine.until(2_599);
    expect(machine.lead.isHeld).toBe(true);
    expect(machine.events).toEqual([]);
    await machine.until(4_000);
    expect(machine.events).toEqual(['lapsed at 2600']);
  });

  it('sends a beat when nothing that it sent for 200 ms counted, lapsed or not', async () => {
    const machine = new LeadFixture();
    await machine.leading();
    await machine.until(1_400);
    expect(machine.sentAt('beat')).toEqual([1_250]);
    machine.lead.counted(machine.startMs + 1_390);
    await machine.until(1_589);
    expect(machine.sentAt('beat')).toEqual([1_250]);
    await machine.until(3_000);
    const gaps = machine.sentAt('beat').map((atMs, at, all) => atMs - (all[at - 1] ?? 1_050));
    expect(gaps.every((gap) => gap <= 400)).toBe(true);
    expect(machine.sentAt('beat').at(-1)).toBeGreaterThan(2_700);
    machine.position = { ...machine.position, n: 3, chain: Buffer.alloc(chainBytes, 6) };
    await machine.until(3_200);
    const beats = machine.sentAt('beat').length;
    expect(readEntry(machine.sent.at(-1)!.body)).toEqual({
      head: { version: 1, epoch: 5, n: 3 },
      chain: machine.position.chain,
      content: { kind: 'beat', count: beats },
    });
  });

  it('that has lapsed is renewed by the next beat that counts', async () => {
    const machine = new LeadFixture();
    await machine.leading();
    await machine.until(2_300);
    expect(machine.sentAt('beat')).toEqual([1_250, 1_450, 1_650, 1_850, 2_050, 2_250]);
    expect(machine.lead.isHeld).toBe(false);
    machine.lead.countedBeat(6);
    expect(machine.lead.isHeld).toBe(true);
    await machine.until(3_249);
    expect(machine.lead.isHeld).toBe(true);
    await machine.until(3_250);
    expect(machine.lead.isHeld).toBe(false);
    expect(machine.events).toEqual(['lapsed at 2050', 'lapsed at 3250']);
  });

  it('is not renewed by a beat that comes again, or after a later one', async () => {
    const machine = new LeadFixture();
    await machine.leading();
    await machine.until(1_500);
    machine.lead.countedBeat(2);
    machine.lead.countedBeat(2);
    machine.lead.countedBeat(1);
    machine.lead.countedBeat(77);
    await machine.until(4_000);
    expect(machine.events).toEqual(['lapsed at 2450']);
  });

  it('remembers 20 beats', async () => {
    const lapsedAfter = async (count: number): Promise<string[]> => {
      const machine = new LeadFixture({ leaseMs: 10_000, beatMs: 100 });
      await machine.until(10_500);
      machine.countLead(self);
      await machine.until(13_000);
      expect(machine.sentAt('beat')).toHaveLength(25);
      machine.lead.countedBeat(count);
      await machine.until(24_000);
      return machine.events.slice(1);
    };
    // Its lead was sent at 10,500, its beat 6 at 11,100.
    expect(await lapsedAfter(5)).toEqual(['lapsed at 20500']);
    expect(await lapsedAfter(6)).toEqual(['lapsed at 21100']);
  });

  it("is deposed by another's lead: it says so once, and writes nothing more", async () => {
    const machine = new LeadFixture();
    await machine.leading();
    await machine.until(1_400);
    const refused: unknown[] = [];
    machine.lead.lapsed.listen(() => refused.push(machine.refusal()));
    machine.countLead(other);
    expect(machine.events).toEqual(['lapsed at 1400', 'deposed at 1400']);
    expect(refused).toMatchObject([{ message: 'Cannot change anything here: http://other leads' }]);
    expect(machine.lead.state).toBe('standby');
    machine.lead.counted(machine.startMs + 1_390);
    await machine.until(2_449);
    expect(machine.kinds()).toEqual(['lead', 'beat']);
    await machine.until(2_450);
    expect(machine.kinds()).toEqual(['lead', 'beat', 'lead']);
    machine.countLead(self);
    expect(machine.lead.isHeld).toBe(true);
    expect(machine.events.slice(2)).toEqual(['leading at 2450']);
  });
});

describe('stop', () => {
  const starts: Record<string, (machine: LeadFixture) => Promise<void>> = {
    'of a standby': (machine) => machine.until(500),
    'of a candidate': (machine) => machine.until(1_100),
    'of a leader': (machine) => machine.leading(),
    'of a leader that waits to open': async (machine) => {
      await machine.until(1_100);
      machine.lead.counted(undefined);
      machine.countLead(self);
    },
  };

  it.each(Object.entries(starts))('%s leaves nothing behind', async (_, start) => {
    const machine = new LeadFixture();
    await start(machine);
    machine.events.length = 0;
    machine.lead.stop();
    expect(machine.lead.state).toBe('stopped');
    expect(machine.timers.size).toBe(0);
    expect(machine.events).toEqual([`lapsed at ${machine.nowMs}`]);
    expect(machine.refusal()).toMatchObject(nobodyLeads);
    const { length } = machine.sent;
    machine.lead.counted(machine.time.nowMs);
    machine.lead.countedBeat(1);
    machine.countLead(self);
    machine.countLead(other);
    await machine.until(9_000);
    expect(machine.lead.state).toBe('stopped');
    expect(machine.sent).toHaveLength(length);
    expect(machine.events).toHaveLength(1);
    expect(machine.timers.size).toBe(0);
  });

  it.each([true, undefined])('while the log is asked, which answers %s', async (isAnswered) => {
    const machine = new LeadFixture();
    const answer = await machine.asking();
    machine.lead.stop();
    answer(isAnswered);
    await machine.until(9_000);
    expect(machine.sent).toEqual([]);
    expect(machine.asked).toEqual([1_050]);
    expect(machine.timers.size).toBe(0);
  });
});
