/**
 * Settings that are valid, and yet seldom what an operator wants: warned of by the log of a start, and by `doctor`.
 */
import type { Config } from '../config.ts';
import { isLocalUrl } from '../model/address.ts';

export function configWarnings({ shortUrlBase }: Config): string[] {
  return isLocalUrl(shortUrlBase)
    ? [
        `short links begin with ${shortUrlBase}, which no phone can open: codes printed now keep this address; ` +
          'before printing set shortUrlBase (QZ_SHORT_URL_BASE) to an address that phones reach',
      ]
    : [];
}
