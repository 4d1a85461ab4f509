/**
 * GET /qr-codes/export.csv: every code of the filter, newest first, as a stream of any length. It reads slice by slice, as
 * fast as the client takes them: memory has one slice, and no snapshot of the store is open in between. Columns have the
 * names of POST /qr-codes/bulk, which takes the whole table. Metadata has a column for each key, so the codes are read
 * twice: for the keys, then for the rows.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { isColumn, tagsText } from '../../product/codes/bulk/rows.ts';
import type { Codes } from '../../product/codes/codes.ts';
import type { CodeFilter, CodeSlice } from '../../product/codes/search/listing.ts';
import type { CodeView } from './code-view.ts';
import { csvLine } from '../../model/csv.ts';
import { csvText, fileHeaders } from '../kernel/csv.ts';
import { viewsOf } from '../kernel/resource.ts';
import type { StreamedResult } from '../kernel/route.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';
import { utmKeys } from '../../model/routing/routing.ts';

/** The first so many keys have a column. Bounds the width of rows: a bulk body has at most 200 columns. */
const metadataColumnsMax = 100;
/** Codes made into lines without a pause: at about 60 us each, 2 ms. */
const linesPerSlice = 30;

type Column = readonly [
  name: string,
  value: (code: ReturnType<CodeView['whole']>) => string | number | null,
];

const fixed: readonly Column[] = [
  ['id', ({ id }) => id],
  ['type', ({ type }) => type],
  ['target', ({ target }) => target],
  ['dynamic', ({ dynamic }) => String(dynamic)],
  ['name', ({ name }) => name],
  ['slug', ({ slug }) => slug],
  ['shortUrl', ({ shortUrl }) => shortUrl ?? null],
  ['imageUrl', ({ imageUrl }) => imageUrl],
  ['tags', ({ tags }) => tagsText(tags)],
  ['campaignIds', ({ campaignIds }) => campaignIds.join(';')],
  ['startsAt', ({ startsAt }) => startsAt],
  ['expiresAt', ({ expiresAt }) => expiresAt],
  ['scanLimit', ({ scanLimit }) => scanLimit],
  ['externalId', ({ externalId }) => externalId],
  ['paused', ({ paused }) => String(paused)],
  ['fallbackUrl', ({ fallbackUrl }) => fallbackUrl],
  ...utmKeys.map((key): Column => [`utm.${key}`, ({ utm }) => utm?.[key] ?? null]),
  ['scans', ({ scans }) => scans],
  ['createdAt', ({ createdAt }) => createdAt],
  ['updatedAt', ({ updatedAt }) => updatedAt],
  ['status', ({ status }) => status],
];

export const codeTableSample = csvText([[...fixed.map(([name]) => name), 'metadata.table']]);

export function codeTable(
  codes: Codes,
  view: CodeView,
  workspaceNo: WorkspaceNo,
  filter: CodeFilter,
): StreamedResult {
  const slices = () => codes.listAll(workspaceNo, filter);
  return { status: 200, headers: fileHeaders('csv', 'qr-codes'), body: linesOf(view, slices) };
}

async function* linesOf(
  view: CodeView,
  slices: () => AsyncIterable<CodeSlice>,
): AsyncGenerator<Uint8Array> {
  const columns = [...fixed, ...(await metadataColumns(slices()))];
  yield Buffer.from(csvLine(columns.map(([name]) => name)));
  let unreadable = 0;
  for await (const slice of slices()) {
    unreadable += slice.unreadable;
    for (let at = 0; at < slice.codes.length; at += linesPerSlice) {
      const shown = viewsOf(slice.codes.slice(at, at + linesPerSlice), (code) => {
        const whole = view.whole(code);
        return csvLine(columns.map(([, value]) => value(whole)));
      });
      unreadable += shown.unreadable;
      yield Buffer.from(shown.views.join(''));
      await yieldToEventLoop();
    }
  }
  // Cannot be mistaken for an id. A file that lacks codes must not look complete.
  if (unreadable > 0) {
    yield Buffer.from(csvLine([`unreadable: ${unreadable} left out, their records are damaged`]));
  }
}

/** A column for each key, and one of JSON for keys that cannot name a column or exceed the bound. */
async function metadataColumns(slices: AsyncIterable<CodeSlice>): Promise<Column[]> {
  const keys = new Set<string>();
  let hasOthers = false;
  for await (const { codes } of slices) {
    for (const key of codes.flatMap(({ metadata }) => Object.keys(metadata))) {
      if (keys.has(key)) continue;
      const isColumnName = key.trim() === key && isColumn(`metadata.${key}`);
      if (isColumnName && keys.size < metadataColumnsMax) keys.add(key);
      else hasOthers = true;
    }
  }
  const own = [...keys].map((key): Column => [
    `metadata.${key}`,
    ({ metadata }) => (Object.hasOwn(metadata, key) ? valueText(metadata[key]) : null),
  ]);
  const rest: Column = [
    'metadata',
    ({ metadata }) => {
      const left = Object.entries(metadata).filter(([key]) => !keys.has(key));
      return left.length === 0 ? null : JSON.stringify(Object.fromEntries(left));
    },
  ];
  return hasOthers ? [...own, rest] : own;
}

/** Text as it is, anything else as JSON. */
const valueText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);
