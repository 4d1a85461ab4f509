import type { DayRange } from '../../../src/model/day.ts';
import type { EventEnvelope } from '../../../src/model/event.ts';
import type { Subject } from '../../../src/engine/analytics/subject.ts';
import type { ScanQueries } from '../../../src/engine/analytics/queries.ts';

/** Scans as a test wants them: the lifetime's of every code, on any day. */
export class FakeScans implements ScanQueries {
  readonly lifetime = new Map<number, number>();
  readonly asked: string[] = [];
  scanned: EventEnvelope[] = [];
  failure: Error | undefined;

  readonly analytics: ScanQueries['analytics'] = {
    lifetimeScans: (codeNo) => this.lifetime.get(codeNo) ?? 0,
    totals: async (subject, range) => {
      const totalScans = this.#scansOf(subject, range);
      const devices = { ios: totalScans, android: 0, other: 0 };
      return { totalScans, uniqueScanners: totalScans, devices, topCountries: [] };
    },
    series: async (_subject, { fromDay, toDay }) =>
      Array.from({ length: toDay - fromDay + 1 }, (_, at) => ({
        start: new Date((fromDay + at) * 86_400_000).toISOString(),
        scans: 0,
      })),
    breakdown: async (subject, range) => [
      { key: 'DE', scans: 'codes' in subject ? this.#scansOf(subject, range) : 2 },
    ],
    totalsWithScanners: async (subject, range) => {
      const totals = await this.analytics.totals(subject, range);
      return { ...totals, newScanners: 0, returningScanners: 0, error: 0 };
    },
    scans: async (subject, range) => this.#scansOf(subject, range),
    routesSeen: () => new Set(),
    scansByCode: async (subject, range) =>
      Array.from('codes' in subject ? subject.codes : [], (codeNo) => ({
        codeNo,
        scans: this.#scansOf({ code: codeNo }, range),
      })).filter(({ scans }) => scans > 0),
  };
  readonly topCodes = { find: async () => [], eachChunk: async () => undefined };
  readonly raw = { begin: () => undefined, step: () => ({ scans: [], next: undefined }) };
  readonly events: ScanQueries['events'] = {
    newest: () => ({ sequence: 1, entry: 0 }),
    after: (_workspaceNo, cursor) => ({ events: [], cursor, hasMore: false }),
    isPast: () => false,
    cursorAt: () => ({ sequence: 1, entry: 0 }),
    pageFrom: () => '1.0',
    continuedAt: () => ({ sequence: 1, entry: 0 }),
    timeOf: () => 0,
    blockOf: () => undefined,
    page: (_workspaceNo, before, limit) => {
      const start = before === undefined ? 0 : this.scanned.findIndex((e) => e.id === before) + 1;
      const data = this.scanned.slice(start, start + limit);
      const last = data.at(-1);
      const isMore = start + limit < this.scanned.length;
      return isMore && last !== undefined ? { data, before: last.id } : { data };
    },
  };

  #scansOf(subject: Subject, { fromDay, toDay }: DayRange): number {
    if (this.failure !== undefined) throw this.failure;
    if (fromDay > toDay) return 0;
    const codes =
      'codes' in subject ? [...subject.codes] : 'code' in subject ? [subject.code] : [0];
    for (const codeNo of codes) this.asked.push(`${codeNo} ${fromDay} ${toDay}`);
    return codes.reduce((sum, codeNo) => sum + (this.lifetime.get(codeNo) ?? 0), 0);
  }
}
