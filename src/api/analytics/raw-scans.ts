/**
 * GET /qr-codes/:id/scans: the raw scans of a code, newest first: a page as JSON, or all as a file of CSV or NDJSON. A file
 * is a stream of any length: it reads a few blocks at a time, as fast as the client takes them.
 * Addresses, user agents and visitors' hashes stay in the store.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import pLimit from 'p-limit';
import { z } from 'zod';
import { isDamage } from '../../model/failure.ts';
import type { ScanQueries } from '../../engine/analytics/queries.ts';
import type { RawScanCursor, RawScanFilter, RawStep } from '../../engine/analytics/raw-scans.ts';
import type { RawScan } from '../../engine/counting/scanned-event.ts';
import type { Positions } from '../kernel/positions.ts';
import { zoneShape, calendarFor } from './analytics-query.ts';
import { type AnalyticsServices, analyticsTag, fileNameOf } from './analytics-routes.ts';
import { country } from './analytics-schemas.ts';
import { codeRange, codeRangeShape } from './code-analytics.ts';
import { formatCursor, parseCursor } from '../../model/cursor.ts';
import { csvLine } from '../../model/csv.ts';
import { fileHeaders, tableRoutes } from '../kernel/csv.ts';
import { browserNames, deviceNames, osNames } from '../../model/scan.ts';
import { cursorField, idField, queryInteger, time } from '../kernel/fields.ts';
import { cursorPageSchema } from '../kernel/resource.ts';
import { jsonResult, type Route } from '../kernel/route.ts';

/** Scans that a piece of an export holds at most: 64 KB of text. */
const pieceScansMax = 300;
/** Steps of one page, about 1 ms each; then the page has what they found. */
const pageStepsMax = 500;

/** Fields of a scan, here and in its event. */
export const scanFields = {
  scannedAt: time.meta({ description: 'Time of the scan' }),
  country,
  city: z.string().meta({ description: 'Empty if unknown', example: 'Leipzig' }),
  device: z.enum(deviceNames).meta({ description: 'Kind of device', example: 'mobile' }),
  os: z.enum(osNames).meta({ description: 'Its system', example: 'iOS' }),
  referer: z
    .string()
    .nullable()
    .meta({ description: 'Address of the referring page; null for a camera', example: null }),
};
export const route = z.string().meta({
  description: 'Label of the rule or variant that decided; `target` = no rule',
  example: 'app-store',
});

const rawScan = z
  .object({
    id: idField('scn', 'Id of the scan'),
    ...scanFields,
    browser: z.enum(browserNames).meta({ description: 'Its browser', example: 'Safari' }),
    bot: z.string().nullable().meta({
      description: 'Reason for not counting it as a scan; null = counted',
      example: null,
    }),
    route: route.nullable().meta({
      description:
        'Label of the rule or variant that decided; `target` = no rule; null if the code never had rules, or for ' +
        'a bot without a target',
    }),
  })
  .meta({ id: 'RawScan' });

const rawScanPage = cursorPageSchema('RawScanPage', rawScan);

const query = z.object({
  ...codeRangeShape,
  ...zoneShape,
  bots: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'Include bots, which are not counted as scans' }),
  limit: queryInteger(1, 100, 20).meta({ description: 'Items of a JSON page' }),
  cursor: cursorField.meta({
    description: '`nextCursor` of the previous page, with the same from, to, timezone and bots',
  }),
});

export interface RawScansOptions extends AnalyticsServices {
  readonly positions: Positions;
  readonly scanStore?: string | undefined;
}

export function rawScanRoutes(options: RawScansOptions): Route[] {
  const step = oneStepACycle(options.scans.raw);
  return tableRoutes({
    path: '/qr-codes/:id/scans',
    operationId: 'listScans',
    access: 'viewer',
    tag: analyticsTag,
    summary: 'Raw scans',
    description: 'Every stored scan (90 days by default), newest first.',
    query,
    jsonOnly: ['limit', 'cursor'],
    answer: { status: 200, schema: rawScanPage, what: 'A page of scans' },
    files: [
      { format: 'csv', sample: lines.csv.header + lines.csv.line(sampleScan) },
      { format: 'ndjson', sample: lines.ndjson.line(sampleScan) },
    ],
    failures: ['not_found'],
    handle: async ({ actor, id, query: asked }, format) => {
      const calendar = calendarFor(asked.timezone, options.zoneOf(actor.workspaceNo));
      const { code, range } = codeRange(options, actor, id, asked, calendar);
      const bots = asked.bots === 'true' ? 'with' : 'without';
      const labels = code.routing?.labels ?? [];
      const filter: RawScanFilter = { ...range, codeNo: code.no, bots, labels };
      const positions = options.positions.of(actor.workspaceNo, 'scans');
      const cursor = positions.read(asked.cursor);
      const from =
        cursor === undefined ? options.scans.raw.begin(filter) : ownCursor(options, filter, cursor);
      const walk: Walk = { step, filter, from };
      if (format === 'json') {
        const { data, next } = await readPage(walk, asked.limit);
        const nextCursor = positions.write(next && cursorOf(next, options));
        return jsonResult(200, { data, nextCursor, limit: asked.limit });
      }
      return {
        status: 200,
        headers: fileHeaders(format, fileNameOf(`scans-${code.id}`, range)),
        body: textPieces(walk, lines[format]),
      };
    },
  });
}

type StepOf = (filter: RawScanFilter, from: RawScanCursor, limit: number) => Promise<RawStep>;

/** One step of one walk in each cycle of the event loop, however many walks there are. */
function oneStepACycle(raw: ScanQueries['raw']): StepOf {
  const steps = pLimit(1);
  return (...request) =>
    steps(async () => {
      await yieldToEventLoop();
      return raw.step(...request);
    });
}

interface Walk {
  readonly step: StepOf;
  readonly filter: RawScanFilter;
  /** Undefined = there are no scans. */
  readonly from: RawScanCursor | undefined;
}

async function readPage(
  { step, filter, from }: Walk,
  limit: number,
): Promise<{ data: RawScan[]; next?: RawScanCursor }> {
  const data: RawScan[] = [];
  let at = from;
  for (let steps = 0; at !== undefined && steps < pageStepsMax; steps++) {
    if (data.length === limit) break;
    const found = await step(filter, at, limit - data.length).catch(damagedAfter(data));
    if (found === 'damaged') break;
    const { scans, next } = found;
    data.push(...scans);
    at = next;
  }
  return at === undefined ? { data } : { data, next: at };
}

/** The scans before a damaged block form a page. The request for the next page fails. */
const damagedAfter =
  (data: readonly RawScan[]) =>
  (error: unknown): 'damaged' => {
    if (isDamage(error) && data.length > 0) return 'damaged';
    throw error;
  };

interface Lines {
  readonly header: string;
  readonly line: (scan: RawScan) => string;
}

const columns = [
  'id',
  'scannedAt',
  'country',
  'city',
  'device',
  'os',
  'browser',
  'referer',
  'bot',
  'route',
] as const satisfies ReadonlyArray<keyof RawScan>;
const lines: Readonly<Record<'csv' | 'ndjson', Lines>> = {
  csv: {
    header: csvLine(columns),
    line: (scan) => csvLine(columns.map((name) => scan[name])),
  },
  ndjson: { header: '', line: (scan) => `${JSON.stringify(scan)}\n` },
};

const sampleScan: RawScan = {
  id: 'scn_01k3zq8m4hd2v7c5x9ab',
  scannedAt: '2026-03-01T12:00:00.000Z',
  country: 'DE',
  city: 'Leipzig',
  device: 'mobile',
  os: 'iOS',
  browser: 'Safari',
  referer: null,
  bot: null,
  route: 'app-store',
};

/** Holds no part of the store between two steps. */
async function* textPieces(
  { step, filter, from }: Walk,
  { header, line }: Lines,
): AsyncGenerator<Uint8Array> {
  if (header !== '') yield Buffer.from(header);
  for (let at = from; at !== undefined;) {
    const { scans, next } = await step(filter, at, pieceScansMax);
    if (scans.length > 0) yield Buffer.from(scans.map(line).join(''));
    at = next;
  }
}

/** `<block>.<done>.<left>`, in a cluster with `@<store>@<time>`: whose blocks these are, and the time of this one. */
function cursorOf(next: RawScanCursor, { scans, scanStore, clock }: RawScansOptions): string {
  const { sequence, done, left } = next;
  const timeMs = (): number => scans.events.timeOf(next, clock.now());
  const of = scanStore === undefined ? '' : `@${scanStore}@${timeMs()}`;
  return formatCursor(sequence, done, left) + of;
}

/** A cursor of another core continues by time. */
function ownCursor(
  { scans, scanStore }: RawScansOptions,
  filter: RawScanFilter,
  cursor: string,
): RawScanCursor | undefined {
  const [numbers = '', store, timeMs] = cursor.split('@');
  const [sequence = 0, done = 0, left = 0] = parseCursor(numbers, 3);
  if (store === undefined || store === scanStore) return { sequence, done, left };
  return scans.raw.begin(filter, Number(timeMs));
}
