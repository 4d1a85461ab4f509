/**
 * POST /qr-codes/bulk: up to 10,000 codes by one request.
 *
 *   body in pieces -> rows (JSON, NDJSON or CSV), all of them -> 50 rows a transaction -> one JSON document
 *
 * A row is checked by the schema and the rules of a single create, and fails by itself. Once read, a request is
 * carried out completely, even when its client leaves. Under an Idempotency-Key its results are stored batch by
 * batch (product/codes/bulk/bulk-requests.ts), so a request that was cut off continues where it stopped.
 */
import { createHash } from 'node:crypto';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { z } from 'zod';
import type { Codes } from '../../product/codes/codes.ts';
import type { BulkResult } from '../../product/codes/bulk/bulk-requests.ts';
import type { Clock } from '../../model/clock.ts';
import type { QrCodeRecord } from '../../model/code.ts';
import { Failure } from '../../model/failure.ts';
import type { Actor } from '../../model/workspace.ts';
import { answerName, type Idempotency } from '../../product/workspaces/idempotency.ts';
import { type BulkBounds, BulkGate, standardBounds } from './bulk-gate.ts';
import { type BulkFormat, bulkRows } from '../../product/codes/bulk/rows.ts';
import { newCodeBody, rowDraft } from './code-bodies.ts';
import { createBody, qrCode } from './code-schemas.ts';
import type { CodeView } from './code-view.ts';
import { count } from '../kernel/fields.ts';
import { fault } from '../openapi/problems.ts';
import { problemKinds } from '../kernel/problem.ts';
import { mediaTypeOf, type RawCall, type Route, type StreamedResult } from '../kernel/route.ts';

const rowsMax = 10_000;
/** A body takes a place among few: a client that drips gives it back after this. */
const bodyMsMax = 60_000;
const linesPerPiece = 50;
const ndjsonType = 'application/x-ndjson';
const formats: ReadonlyMap<string, BulkFormat> = new Map([
  ['application/json', 'json'],
  [ndjsonType, 'ndjson'],
  ['application/ndjson', 'ndjson'],
  ['text/csv', 'csv'],
]);

export interface BulkOptions {
  readonly codes: Codes;
  readonly view: CodeView;
  readonly ownHosts: readonly string[];
  readonly idempotency: Idempotency;
  readonly clock: Clock;
  readonly bounds?: BulkBounds | undefined;
}

const rowError = z.object({
  code: z.string().meta({ description: 'Stable: branch on it', example: 'slug_taken' }),
  detail: z.string().meta({ description: 'The error as text' }),
  errors: z.array(fault).optional().meta({ description: 'Every fault of the row at once' }),
});
const rowResult = z
  .object({
    index: count.meta({ description: 'Row, from 0' }),
    status: z
      .int()
      .meta({ description: '201, or the status of a failed single create', example: 201 }),
    qrCode: qrCode.optional().meta({ description: 'Only if it was created' }),
    error: rowError.optional().meta({ description: 'Only if it failed' }),
  })
  .meta({ id: 'BulkRowResult' });
const bulkAnswer = z
  .object({
    created: count.meta({ description: 'Rows that became codes', example: 1 }),
    failed: count.meta({ description: 'Rows that failed', example: 0 }),
    results: z.array(rowResult).meta({ description: 'One per row, in order' }),
    ignoredColumns: z
      .array(z.string())
      .optional()
      .meta({
        description: 'Ignored computed columns of an export',
        example: ['scans'],
      }),
  })
  .meta({ id: 'BulkAnswer' });

const samples = {
  body: {
    [ndjsonType]: '{"target":"https://example.com/1"}\n{"target":"https://example.com/2"}\n',
    'text/csv': 'target,name,tags\r\nhttps://example.com/1,Table 1,menu;berlin\r\n',
  },
};

export function bulkRoutes(options: BulkOptions): Route[] {
  const { bodyBytesMax, atOnceMax } = options.bounds ?? standardBounds;
  const gate = new BulkGate(atOnceMax);
  const body = newCodeBody(createBody, options.ownHosts);
  return [
    {
      method: 'POST',
      path: '/qr-codes/bulk',
      operationId: 'createQrCodes',
      access: 'editor',
      isSlow: true,
      tag: 'QR codes',
      summary: 'Create many QR codes',
      description:
        `Up to ${rowsMax.toLocaleString('en')} codes by one request of at most 24 MB: a JSON list, ` +
        'NDJSON, or CSV whose first row names the columns (`target`, `type`, `dynamic`, `name`, `slug`, `tags` ' +
        'separated by ' +
        '`;` or `|`, `campaignIds` separated by `;`, `startsAt`, `expiresAt`, `scanLimit`, `externalId`, ' +
        '`paused`, `fallbackUrl`, `utm.…`, ' +
        '`metadata.…`): the export of codes is such a table. ' +
        'Failed rows do not stop the others. An unreadable body, or one with too many rows, fails as a whole. If ' +
        'a request is cut off, repeat it with its Idempotency-Key: it resumes where it stopped. Emits ' +
        '`qr.created` for each code.',
      body: z.array(createBody).max(rowsMax),
      bodyMedia: [ndjsonType, 'text/csv'],
      samples,
      answer: { status: 200, schema: bulkAnswer, what: 'The result of each row' },
      keepsItsAnswer: true,
      bodyBytesMax,
      failures: ['idempotency_conflict', 'storage_full'],
      run: async (call) => {
        const { actor } = call;
        if (actor === undefined) throw new Error('Cannot create codes: no actor');
        const leave = await gate.enter(actor.workspaceNo);
        try {
          return await perform(options, body, actor, call);
        } finally {
          leave();
        }
      },
    },
  ];
}

/** @throws Failure unsupported_media_type */
function bodyFormatOf({ header }: RawCall): BulkFormat {
  const { name, isUtf8 } = mediaTypeOf(header('content-type'));
  const format = formats.get(name);
  if (format !== undefined && isUtf8) return format;
  const detail =
    'Cannot read the body: expected Content-Type: application/json, application/x-ndjson or text/csv in UTF-8';
  throw new Failure('unsupported_media_type', detail);
}

async function perform(
  { codes, view, idempotency, clock }: BulkOptions,
  body: typeof createBody,
  actor: Actor,
  call: RawCall,
): Promise<StreamedResult> {
  const { rows, fingerprint, ignoredColumns } = await readRows(call, clock);
  const key = call.header('idempotency-key');
  const name = key === undefined ? undefined : answerName(actor, key);
  const run = async (): Promise<BulkResult> =>
    await codes.bulk.run(actor, {
      rows: rows.length,
      draftOf: (index) => rowDraft(body, rows[index]),
      lineOf: (index, made) => lineOf(view, index, made),
      idempotency: name === undefined ? undefined : { name, fingerprint },
    });
  let result: BulkResult | undefined;
  let isReplayed = false;
  if (name !== undefined) {
    const request = { workspaceNo: actor.workspaceNo, name, fingerprint };
    const { replayed } = await idempotency.run(request, async () => {
      result = await run();
      // A cut answer is not final: the same request may continue.
      return { status: result.isCut ? 507 : 200, headers: {}, body: '' };
    });
    isReplayed = replayed;
  }
  // The lines of a replayed answer are stored: no code is created again.
  result ??= await run();
  const { created, failed, lines } = result;
  const headers = {
    'Content-Type': 'application/json',
    ...(isReplayed ? { 'Idempotent-Replayed': 'true' } : {}),
  };
  return { status: 200, headers, body: document({ created, failed, ignoredColumns }, lines) };
}

/** @throws Failure for a body that cannot be read as a whole, or has too many rows */
async function readRows(call: RawCall, clock: Clock) {
  const format = bodyFormatOf(call);
  const hash = createHash('sha256').update(`POST /v1/qr-codes/bulk\n${format}\n`);
  const endMs = clock.monotonicMs() + bodyMsMax;
  async function* timedPieces(): AsyncGenerator<Uint8Array> {
    for await (const piece of call.chunks()) {
      if (clock.monotonicMs() > endMs) {
        throw new Failure('request_timeout', 'Cannot read the body: it did not arrive in time');
      }
      hash.update(piece);
      yield piece;
    }
  }
  const rows: unknown[] = [];
  let ignoredColumns: readonly string[] | undefined;
  const onIgnored = (names: readonly string[]): void => {
    if (names.length > 0) ignoredColumns = names;
  };
  for await (const { value } of bulkRows(format, timedPieces(), onIgnored)) {
    if (rows.length === rowsMax) throw tooManyRows();
    rows.push(value);
  }
  return { rows, fingerprint: hash.digest('base64url'), ignoredColumns };
}

function lineOf(view: CodeView, index: number, made: QrCodeRecord | Failure): string {
  if (!(made instanceof Failure)) {
    return JSON.stringify({ index, status: 201, qrCode: view.whole(made) });
  }
  const { code, message: detail, faults } = made;
  const errors = faults.length > 0 ? { errors: faults } : {};
  const { status } = problemKinds[code];
  return JSON.stringify({ index, status, error: { code, detail, ...errors } });
}

/** Results of 10,000 rows are some 7 MB: they are sent in pieces, with other requests in between. */
async function* document(head: object, lines: readonly string[]): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${JSON.stringify(head).slice(0, -1)},"results":[`);
  for (let at = 0; at < lines.length; at += linesPerPiece) {
    const piece = lines.slice(at, at + linesPerPiece).join(',');
    yield Buffer.from(at === 0 ? piece : `,${piece}`);
    await yieldToEventLoop();
  }
  yield Buffer.from(']}');
}

function tooManyRows(): Failure {
  const message = `Expected at most ${rowsMax} rows per request`;
  const faults = [{ path: '', code: 'too_many_rows', message }];
  return new Failure('validation_failed', message, { faults });
}
