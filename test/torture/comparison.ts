/**
 * The ledger against the store, after the service has ended. Every difference is a fault of the ledger.
 *
 *   answered    302 fully received             lost        answered, and not counted
 *   counted     in the store's numbers         duplicated  counted more often than once
 *   sent        asked for                      writes lost acknowledged changes that the store does not have
 */
import type { QrCodeRecord } from '../../src/model/code.ts';
import { dayMs } from '../../src/model/day.ts';
import type { Management } from '../../src/store/management/management.ts';
import { Client } from '../support/client.ts';
import {
  agents,
  botAgent,
  type CodeEntry,
  isRouted,
  type Ledger,
  scanOfReferer,
  tallyOf,
  targetNumber,
  targetOf,
} from './ledger.ts';
import type { EventReceiver } from './receiver.ts';
import { type Stores, withStores } from './stores.ts';

export type Comparison = Awaited<ReturnType<typeof compare>>;

/** Uniques of a code may be off by this share (contract), and by this many where the code has few. */
const uniquesError = 0.02 * 1.5;
const uniquesSlack = 2;

export const today = (): number => Math.floor(Date.now() / dayMs);

/** @param firstDay of the run, which may pass midnight */
export async function compare(
  ledger: Ledger,
  dataDir: string,
  firstDay: number,
  receiver?: EventReceiver,
) {
  return await withStores(dataDir, async (stores) => {
    const bySlug = new Map(stores.codes.map((code) => [`/${code.shortCode ?? ''}`, code]));
    const writesLost = compareWrites(ledger, bySlug, stores.management);
    const { people, ...numbers } = await compareNumbers(ledger, bySlug, stores, firstDay);
    const events = compareScans(ledger, stores);
    if (events.found !== people) {
      ledger.note(`${events.found} scans have events, but ${people} are counted`);
    }
    const lost = Math.max(numbers.lost, events.lost.length);
    const duplicated = Math.max(numbers.duplicated, events.duplicated);
    const named = events.lost.slice(0, 20).join(', ');
    if (lost > 0) ledger.note(`${lost} scans are lost: ${named}`);
    if (duplicated > 0) ledger.note(`${duplicated} scans are counted twice`);
    if (writesLost > 0) ledger.note(`${writesLost} writes are lost`);
    const receipts = receiver?.compare(ledger, stores);
    const notes: readonly string[] = ledger.faults;
    return { ...numbers, lost, duplicated, writesLost, receipts, notes };
  });
}

type CodesBySlug = ReadonlyMap<string, QrCodeRecord>;

/** Records and events against the acknowledged writes. @returns how many of these are not there */
function compareWrites(ledger: Ledger, bySlug: CodesBySlug, management: Management): number {
  const all = Array.from(management.events.range({}), ({ value }): WriteEvent =>
    JSON.parse(value.body),
  );
  const events = Map.groupBy(all, ({ data }) => data.id);
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
  bySlug: CodesBySlug,
  { analytics }: Stores,
  firstDay: number,
) {
  const total = { sent: 0, answered: 0, counted: 0, people: 0, lost: 0, duplicated: 0 };
  const range = { fromDay: firstDay, toDay: today() };
  for (const code of ledger.codes) {
    const stored = bySlug.get(code.path);
    if (stored === undefined) continue;
    const { no } = stored;
    const labels = ['target', ...(stored.routing?.labels ?? []).map(({ name }) => name)];
    const subject = { code: no };
    const by = (key: 'bot' | 'country' | 'os') => analytics.breakdown(subject, range, key);
    const { devices, totalScans, uniqueScanners } = await analytics.totals(subject, range);
    const counted = { ...devices, bot: sumOf(await by('bot')) };
    for (const kind of [...agents.map(({ platform }) => platform), 'bot'] as const) {
      const { sent, answered, refused } = code.scans[kind];
      total.sent += sent;
      total.answered += answered;
      total.counted += counted[kind];
      total.lost += Math.max(0, answered - counted[kind]);
      total.duplicated += Math.max(0, counted[kind] - (sent - refused));
    }
    total.people += totalScans;
    const sums = {
      devices: devices.ios + devices.android + devices.other,
      lifetime: analytics.lifetimeScans(no),
      days: sumOf(await analytics.series(subject, range, 'day')),
      hours: sumOf(await analytics.series(subject, range, 'hour')),
      countries: sumOf(await by('country')),
      systems: sumOf(await by('os')),
    };
    if (Object.values(sums).some((sum) => sum !== totalScans)) {
      ledger.note(`${code.path} has ${totalScans} scans, but ${JSON.stringify(sums)}`);
    }
    const nameOf = (route: number): string => labels[route] ?? 'target';
    const routes = await analytics.breakdown(subject, range, 'route', { nameOf });
    compareRoutes(ledger, code, routes, { ios: devices.ios, totalScans });
    compareUniques(ledger, code, uniqueScanners);
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

/** And a code with a limit gives at least as many redirects, in whichever processes; an upgrade may exceed it. */
function compareUniques(ledger: Ledger, code: CodeEntry, uniqueScanners: number): void {
  const least = code.visitorsAnswered.size * (1 - uniquesError) - uniquesSlack;
  const most = code.visitorsSent.size * (1 + uniquesError) + uniquesSlack;
  if (uniqueScanners < least || uniqueScanners > most) {
    ledger.note(`${code.path} has ${uniqueScanners} scanners, expected ${least} to ${most}`);
  }
  const { sent, answered, refused } = tallyOf(code);
  // A response that never arrived may have been a redirect.
  if (refused > 0 && sent - refused < (code.scanLimit ?? 0)) {
    ledger.note(`${code.path} refused after ${answered} of ${code.scanLimit}`);
  }
}

const sumOf = (rows: ReadonlyArray<{ readonly scans: number }>): number =>
  rows.reduce((sum, { scans }) => sum + scans, 0);

/** Every scan by its number, as the qr.scanned events name it. */
function compareScans(ledger: Ledger, { codes, eventsOf }: Stores) {
  const seen = new Set<number>();
  const ids = new Set<string>();
  const slugs = new Map(codes.map(({ id, shortCode }) => [id, `/${shortCode}`]));
  let duplicated = 0;
  for (const workspaceNo of new Set(codes.map((code) => code.workspaceNo))) {
    for (const { id, data } of eventsOf(workspaceNo)) {
      if (ids.has(id)) ledger.note(`two events have the id ${id}`);
      ids.add(id);
      const number = scanOfReferer(String(Reflect.get(data, 'referer')));
      const path = slugs.get(String(Reflect.get(data, 'qrId')));
      const scan = ledger.scans[number];
      if (scan?.code.path !== path) {
        ledger.note(`scan ${number} of ${path} was never sent`);
      } else if (scan?.fate === 'refused') {
        ledger.note(`scan ${number} of ${path} got no redirect and is counted`);
      } else if (seen.has(number)) {
        duplicated++;
      }
      seen.add(number);
    }
  }
  // A bot's scan has no event.
  const lost = ledger.scans
    .filter(({ number, kind, fate }) => fate === 'answered' && kind !== 'bot' && !seen.has(number))
    .map(({ number }) => number);
  return { found: ids.size, lost, duplicated };
}

/** Every short link asked once, when nothing changes any more: each leads where its last acknowledged write says.
 * A bot asks, which rules and splits do not lead. */
export async function askEveryLink(ledger: Ledger, port: number): Promise<void> {
  const links = new Client(`http://127.0.0.1:${port}`);
  for (const code of ledger.codes.filter(({ scanLimit }) => scanLimit === undefined)) {
    const { status, headers } = await links.call('HEAD', code.path, {
      headers: { 'user-agent': botAgent },
    });
    const found = status === 302 ? String(headers['location']) : String(status);
    const wanted = code.state === 'live' ? targetOf(code, code.targetAcknowledged) : '410';
    if (found !== wanted) ledger.note(`${code.path} leads to ${found}, expected ${wanted}`);
  }
  await links.close();
}
