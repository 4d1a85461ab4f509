/** Codes in their own store, without a service: no link table, no counts. */
import { getRandomValues } from 'node:crypto';
import type { CodesOptions } from '../src/product/codes/codes.ts';
import { createIdSource } from '../src/model/ids.ts';
import { Outbox } from '../src/webhooks/outbox.ts';
import type { Management } from '../src/store/management/management.ts';
import { systemClock } from '../src/platform/system-clock.ts';

export function codesOptions(store: Management): CodesOptions {
  const ids = createIdSource(systemClock, getRandomValues);
  return {
    store,
    ids,
    outbox: new Outbox(store, ids, systemClock),
    links: {
      bulkLoad: () => undefined,
      put: () => undefined,
      delete: () => undefined,
      addScans: () => undefined,
      takeScansLeft: () => undefined,
    },
    clock: systemClock,
    randomBytes: getRandomValues,
    shortUrlBase: 'https://qr.example.com',
    scansOf: () => 0,
  };
}
