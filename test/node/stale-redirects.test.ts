/** Redirects of a node that is cut off are counted, and no others. */
import { expect, test } from 'vitest';
import { StaleRedirects } from '../../src/node/stale-redirects.ts';
import { createLog } from '../../src/telemetry/log.ts';

test('redirects between two ticks without contact are stale', () => {
  const redirects = { answered: 10 };
  let isInContact = true;
  const log = createLog('silent');
  const stale = new StaleRedirects({ redirects, isInContact: () => isInContact, log });
  const tickAt = (answered: number, contact: boolean): number => {
    redirects.answered = answered;
    isInContact = contact;
    stale.tick();
    return stale.count;
  };
  expect(tickAt(20, true)).toBe(0);
  expect(tickAt(30, false)).toBe(0);
  expect(tickAt(45, false)).toBe(15);
  expect(tickAt(50, false)).toBe(20);
  expect(tickAt(70, true)).toBe(20);
  expect(tickAt(80, false)).toBe(20);
});
