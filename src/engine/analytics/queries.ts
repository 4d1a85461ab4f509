/** Reads scans: numbers, top codes, raw scans and events. Each answer sees the newest commit. */
import type { ScannedCode } from '../../model/code.ts';
import type { ScanStore } from '../../store/scans/scans.ts';
import { ScanAnalytics } from './analytics.ts';
import { Ranges } from './range.ts';
import { countRaw } from './raw/raw-walk.ts';
import type { RawScanCounter } from './raw/raw-query.ts';
import { RawScans } from './raw-scans.ts';
import { ScanEvents } from './scan-events.ts';
import { TopCodes } from './top-codes.ts';
import type { CodeNo } from '../../model/numbers.ts';

/** Only public methods, so that a test can pass its own. */
export interface ScanQueries {
  readonly analytics: Pick<ScanAnalytics, keyof ScanAnalytics>;
  readonly topCodes: Pick<TopCodes, keyof TopCodes>;
  readonly raw: Pick<RawScans, keyof RawScans>;
  readonly events: Pick<ScanEvents, keyof ScanEvents>;
}

/** @param codeOf undefined = removed @param raw counts raw scans; absent = in this thread */
export function openScanQueries(
  store: ScanStore,
  codeOf: (codeNo: CodeNo) => ScannedCode | undefined,
  raw: RawScanCounter = { run: async (query) => countRaw(store, query) },
): ScanQueries {
  const ranges = new Ranges(store);
  return {
    analytics: new ScanAnalytics(ranges, raw),
    topCodes: new TopCodes(store, ranges),
    raw: new RawScans(store, ranges),
    events: new ScanEvents(store, ranges, codeOf),
  };
}
