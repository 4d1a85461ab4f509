/** A leader whose beats arrive, but that does not read them in time, must let the others lead: it stops sending beats. */
import { expect, it } from 'vitest';
import { LeadFixture } from './lead-fixture.ts';

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
