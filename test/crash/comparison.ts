/**
 * The ledger against the store, after the service has ended: read through the store itself, so that
 * nothing between it and the API can hide a difference.
 *
 *   answered    302 fully received             lost        answered, and not counted
 *   counted     in the store's numbers         duplicated  counted more often than once
 *   sent        asked for                      unexpected  whatever else must not be
 */
import { unpackCode } from '../../src/store/management/code-codec.ts';
import { openManagement, type Management } from '../../src/store/management/management.ts';
import { openScanStore } from '../../src/store/scans/scans.ts';
import { openDataFolder } from '../../src/engine/data-folder.ts';
import { openScanQueries, type ScanQueries } from '../../src/scans/query/queries.ts';
import type { QrCodeRecord, ScannedCode } from '../../src/model/code.ts';
import {
  agents,
  type CodeEntry,
  isRouted,
  type Ledger,
  scanOfReferer,
  targetNumber,
  targetOf,
} from './ledger.ts';
import type { Receipts, ReceiptSums } from './receipts.ts';

export interface Comparison {
  readonly sent: number;
  readonly answered: number;
  /** 410: of codes that were deleted. */
  readonly refused: number;
  readonly counted: number;
  readonly lost: number;
  readonly duplicated: number;
  /** Numbers of the first scans that were lost: the moment of their loss follows from them. */
  readonly lostScans: readonly number[];
  /** Acknowledged API writes, and those of them that the store does not have. */
  readonly writes: number;
  readonly writesLost: number;
  /** What the receiver of webhooks has seen. */
  readonly receipts: ReceiptSums | undefined;
  readonly unexpected: number;
  readonly notes: readonly string[];
}

/** Uniques of a code may be off by this share (contract), and by this many where the code has few. */
const uniquesError = 0.02 * 1.5;
const uniquesSlack = 2;
const eventsPerPage = 5_000;
const lostScansKept = 20;

/** Day numbers that enclose a run, which may pass midnight. */
export interface Days {
  readonly first: number;
  readonly last: number;
}

/** Codes of the store that another ledger answers for. */
export interface OtherCodes {
  hasPath(path: string): boolean;
  hasReferer(referer: string): boolean;
}

/** The stores of a service that has ended. */
export interface Stores {
  readonly management: Management;
  readonly queries: ScanQueries;
}

export async function withStores<T>(
  dataDir: string,
  work: (stores: Stores) => Promise<T> | T,
): Promise<T> {
  const folder = openDataFolder(dataDir);
  const management = openManagement(folder.managementFile);
  const scans = openScanStore(folder.scansFile);
  const codeOf = (codeNo: number): ScannedCode | undefined => {
    const packed = management.codes.get(codeNo);
    return packed && unpackCode(codeNo, packed);
  };
  try {
    return await work({ management, queries: openScanQueries(scans, codeOf) });
  } finally {
    await scans.environment.close();
    await management.close();
  }
}

export async function compare(
  ledger: Ledger,
  dataDir: string,
  days: Days,
  { receipts, others }: { readonly receipts?: Receipts; readonly others?: OtherCodes } = {},
): Promise<Comparison> {
  return await withStores(dataDir, async ({ management, queries }) => {
    const codes = readCodes(management, others);
    const writesLost = compareWrites(ledger, codes.bySlug, management);
    const numbers = await compareNumbers(ledger, codes.bySlug, queries, days);
    const events = compareScans(ledger, codes, queries, others);
    if (events.found !== numbers.people) {
      ledger.note(`${events.found} scans have events, but ${numbers.people} are counted`);
    }
    const { sent, answered, counted } = numbers;
    return {
      sent,
      answered,
      refused: ledger.refused,
      counted,
      lost: Math.max(numbers.lost, events.lost),
      duplicated: Math.max(numbers.duplicated, events.duplicated),
      lostScans: events.lostScans,
      writes: ledger.acknowledged,
      writesLost,
      receipts: receipts?.compare(ledger, management, queries),
      unexpected: ledger.unexpectedCount,
      notes: ledger.unexpected,
    };
  });
}

interface StoredCodes {
  readonly byNo: ReadonlyMap<number, QrCodeRecord>;
  readonly bySlug: ReadonlyMap<string, QrCodeRecord>;
}

function readCodes(management: Management, others: OtherCodes | undefined): StoredCodes {
  const byNo = new Map<number, QrCodeRecord>();
  const bySlug = new Map<string, QrCodeRecord>();
  for (const { key, value } of management.codes.range({})) {
    const code = unpackCode(key, value);
    const path = `/${code.shortCode ?? ''}`;
    if (others?.hasPath(path)) continue;
    byNo.set(key, code);
    bySlug.set(path, code);
  }
  return { byNo, bySlug };
}

/** Records and events against the acknowledged writes. @returns how many of these are not there */
function compareWrites(
  ledger: Ledger,
  bySlug: ReadonlyMap<string, QrCodeRecord>,
  management: Management,
): number {
  const events = eventsByCode(management);
  const known = new Set(ledger.codes.map(({ path }) => path));
  for (const path of bySlug.keys()) {
    if (!known.has(path)) ledger.note(`the store has ${path}, which nobody made`);
  }
  let lost = 0;
  for (const code of ledger.codes) {
    if (code.state === 'creating') continue;
    const stored = bySlug.get(code.path);
    if (stored === undefined || stored.id !== code.id) {
      lost++;
      continue;
    }
    if (stored.target !== targetOf(code, code.targetAcknowledged)) lost++;
    if ((stored.deletedAtMs !== undefined) !== (code.state === 'deleted')) lost++;
    lost += missingEvents(ledger, code, events.get(stored.id) ?? []);
  }
  return lost;
}

interface WriteEvent {
  readonly event: string;
  readonly data: { readonly id: string; readonly after?: { readonly target?: string } };
}

function eventsByCode(management: Management): Map<string, WriteEvent[]> {
  const byCode = new Map<string, WriteEvent[]>();
  for (const { value } of management.events.range({})) {
    const event: WriteEvent = JSON.parse(value.body);
    const known = byCode.get(event.data.id);
    if (known === undefined) byCode.set(event.data.id, [event]);
    else known.push(event);
  }
  return byCode;
}

/** One event a write, in the order of the writes, and none besides. */
function missingEvents(ledger: Ledger, code: CodeEntry, events: readonly WriteEvent[]): number {
  const found = events.map(({ event, data }) =>
    event === 'qr.updated' ? `target ${targetNumber(code, data.after?.target ?? '')}` : event,
  );
  const expected = [
    'qr.created',
    ...code.changes.map((target) => `target ${target}`),
    ...(code.state === 'deleted' ? ['qr.deleted'] : []),
  ];
  if (found.join() === expected.join()) return 0;
  ledger.note(`${code.path} has the events ${found.join()}, expected ${expected.join()}`);
  return expected.filter((name) => !found.includes(name)).length;
}

/** Every code's sums: within what was answered and sent, and the same whichever way they are added. */
async function compareNumbers(
  ledger: Ledger,
  bySlug: ReadonlyMap<string, QrCodeRecord>,
  { analytics }: ScanQueries,
  { first, last }: Days,
): Promise<
  Pick<Comparison, 'sent' | 'answered' | 'counted' | 'lost' | 'duplicated'> & { people: number }
> {
  const total = { sent: 0, answered: 0, counted: 0, people: 0, lost: 0, duplicated: 0 };
  const range = { fromDay: first, toDay: last };
  for (const code of ledger.codes) {
    const stored = bySlug.get(code.path);
    if (stored === undefined) continue;
    const { no } = stored;
    const labels = ['target', ...(stored.routing?.labels ?? []).map(({ name }) => name)];
    const subject = { code: no };
    const { devices, totalScans, uniqueScanners } = await analytics.totals(subject, range);
    const bots = await analytics.breakdown(subject, range, 'bot');
    const counted = { ...devices, bot: bots.reduce((sum, { scans }) => sum + scans, 0) };
    for (const kind of [...agents.map(({ platform }) => platform), 'bot'] as const) {
      const { sent, answered } = code.scans[kind];
      total.sent += sent;
      total.answered += answered;
      total.counted += counted[kind];
      total.lost += Math.max(0, answered - counted[kind]);
      total.duplicated += Math.max(0, counted[kind] - sent);
    }
    total.people += totalScans;
    const sums = {
      devices: devices.ios + devices.android + devices.other,
      lifetime: analytics.lifetimeScans(no),
      days: sumOf(await analytics.series(subject, range, 'day')),
      hours: sumOf(await analytics.series(subject, range, 'hour')),
      countries: sumOf(await analytics.breakdown(subject, range, 'country')),
      systems: sumOf(await analytics.breakdown(subject, range, 'os')),
    };
    compareRoutes(
      ledger,
      code,
      await analytics.breakdown(subject, range, 'route', {
        nameOf: (route) => labels[route] ?? 'target',
      }),
      {
        ...devices,
        totalScans,
      },
    );
    if (Object.values(sums).some((sum) => sum !== totalScans)) {
      ledger.note(`${code.path} has ${totalScans} scans, but ${JSON.stringify(sums)}`);
    }
    const least = code.visitorsAnswered.size * (1 - uniquesError) - uniquesSlack;
    const most = code.visitorsSent.size * (1 + uniquesError) + uniquesSlack;
    if (uniqueScanners < least || uniqueScanners > most) {
      ledger.note(`${code.path} has ${uniqueScanners} scanners, expected ${least} to ${most}`);
    }
  }
  return total;
}

/** What a route leads is what its kind of device was counted for, and all of them are the total. */
function compareRoutes(
  ledger: Ledger,
  code: CodeEntry,
  rows: ReadonlyArray<{ readonly key: string; readonly scans: number }>,
  counted: { readonly ios: number; readonly totalScans: number },
): void {
  const by = new Map(rows.map(({ key, scans }) => [key, scans]));
  const isLed = isRouted(code)
    ? (by.get('ios') ?? 0) === counted.ios && !by.has('target')
    : rows.every(({ key }) => key === 'target');
  if (isLed && sumOf(rows) === counted.totalScans) return;
  ledger.note(
    `${code.path} has routes ${JSON.stringify(rows)}, expected ${JSON.stringify(counted)}`,
  );
}

const sumOf = (rows: ReadonlyArray<{ readonly scans: number }>): number =>
  rows.reduce((sum, { scans }) => sum + scans, 0);

/** Every scan by its number, as the qr.scanned events name it. */
function compareScans(
  ledger: Ledger,
  codes: StoredCodes,
  { events }: ScanQueries,
  others: OtherCodes | undefined,
): { found: number; lost: number; duplicated: number; lostScans: number[] } {
  const seen = new Uint8Array(ledger.scans);
  const ids = new Set<string>();
  const slugs = new Map([...codes.byNo.values()].map(({ id, shortCode }) => [id, `/${shortCode}`]));
  const workspaces = new Set([...codes.byNo.values()].map(({ workspaceNo }) => workspaceNo));
  let duplicated = 0;
  for (const workspaceNo of workspaces) {
    for (const { id, data } of eventsOf(events, workspaceNo)) {
      if (others?.hasReferer(String(Reflect.get(data, 'referer')))) continue;
      if (ids.has(id)) ledger.note(`two events have the id ${id}`);
      ids.add(id);
      const scan = scanOfReferer(String(Reflect.get(data, 'referer')));
      const path = slugs.get(String(Reflect.get(data, 'qrId')));
      const fate = ledger.fate(scan);
      if (ledger.codes[ledger.codeOf(scan)]?.path !== path || fate === 'none') {
        ledger.note(`scan ${scan} of ${path} was never sent`);
      } else if (fate === 'refused') {
        ledger.note(`scan ${scan} of ${path} got no redirect and is counted`);
      } else if (seen[scan]!++ > 0) {
        duplicated++;
      }
    }
  }
  let lost = 0;
  const lostScans: number[] = [];
  for (let scan = 0; scan < seen.length; scan++) {
    if (seen[scan] !== 0 || ledger.fate(scan) !== 'answered') continue;
    lost++;
    if (lostScans.length < lostScansKept) lostScans.push(scan);
  }
  return { found: ids.size, lost, duplicated, lostScans };
}

function* eventsOf(events: ScanQueries['events'], workspaceNo: number) {
  let before: string | undefined;
  do {
    const page = events.page(workspaceNo, before, eventsPerPage);
    yield* page.data;
    ({ before } = page);
  } while (before !== undefined);
}
