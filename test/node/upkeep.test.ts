/** Redirects of a node that is cut off are counted, and no others. */
import { expect, onTestFinished, test } from 'vitest';
import { Upkeep } from '../../src/node/upkeep.ts';
import { createLog } from '../../src/telemetry/log.ts';

test('redirects between two ticks without contact are stale', async () => {
  const redirects = { answered: 10 };
  let isInContact = true;
  const upkeep = new Upkeep({
    writer: { free: () => undefined },
    links: { closeLimits: async () => undefined, publishPending: () => undefined },
    redirects,
    isInContact: () => isInContact,
    log: createLog('silent'),
  });
  onTestFinished(() => upkeep.close());
  const tickAt = async (answered: number, contact: boolean): Promise<number> => {
    redirects.answered = answered;
    isInContact = contact;
    await upkeep.closeLimits();
    return upkeep.staleRedirects;
  };
  expect(await tickAt(20, true)).toBe(0);
  expect(await tickAt(30, false)).toBe(0);
  expect(await tickAt(45, false)).toBe(15);
  expect(await tickAt(50, false)).toBe(20);
  expect(await tickAt(70, true)).toBe(20);
  expect(await tickAt(80, false)).toBe(20);
});
