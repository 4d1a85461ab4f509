/**
 * /qr-codes: create, list, read, change, replace, delete. Shapes in, records out; the rules are those of
 * product/codes/. The answer of a create is kept for its Idempotency-Key in the create's transaction.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { CodeCheck, Codes } from '../../product/codes/codes.ts';
import { isMatched } from '../../platform/uws/headers.ts';
import type { QrCodeRecord } from '../../model/code.ts';
import { Failure, invalid } from '../../model/failure.ts';
import type { Actor } from '../../model/workspace.ts';
import type { Positions } from '../kernel/positions.ts';
import { tableRoutes } from '../kernel/csv.ts';
import { checkOrder } from '../kernel/fields.ts';
import { codeBodyBytesMax, withLogoBodyLimit } from '../images/logo-body-limit.ts';
import { created, deleteRoute, postRoute, viewsOf } from '../kernel/resource.ts';
import {
  createRoute,
  jsonResult,
  type noQuery,
  type RawCall,
  type Route,
  type RouteDescription,
} from '../kernel/route.ts';
import { changeBodies, fieldsOf, newCodeBody } from './code-bodies.ts';
import { createBody, listQuery, patchBody, putBody, qrCode, qrCodePage } from './code-schemas.ts';
import { codeTable, codeTableSample } from './code-table.ts';
import type { CodeView } from './code-view.ts';

const tag = 'QR codes';

export interface QrCodesOptions {
  readonly codes: Codes;
  readonly view: CodeView;
  readonly positions: Positions;
  /** `host[:port]` of the short links: no target may point back at them. */
  readonly ownHosts: readonly string[];
}

export function qrCodeRoutes(options: QrCodesOptions): Route[] {
  return [
    withLogoBodyLimit(createOne(options), 'design', codeBodyBytesMax),
    ...listMany(options),
    getOne(options),
    withLogoBodyLimit(patchOne(options), 'design', codeBodyBytesMax),
    withLogoBodyLimit(putOne(options), 'design', codeBodyBytesMax),
    deleteOne(options),
  ];
}

function createOne({ codes, view, ownHosts }: QrCodesOptions): Route {
  const checkedBody = newCodeBody(createBody, ownHosts);
  return postRoute({
    path: '/qr-codes',
    operationId: 'createQrCode',
    access: 'editor',
    tag,
    summary: 'Create a QR code',
    description:
      'Creates a code; a dynamic code gets a short URL that works before this answer arrives. ' +
      'Emits `qr.created`.',
    body: createBody,
    bodyFor: () => checkedBody,
    answer: { status: 201, schema: qrCode, what: 'The code; Location names it' },
    failures: ['slug_taken', 'external_id_taken', 'unscannable'],
    make: async ({ actor, body }, kept) => await codes.create(actor, fieldsOf(body), kept),
    result: (code: QrCodeRecord) => created('/qr-codes', view.changed(code)),
  });
}

function listMany({ codes, view, positions }: QrCodesOptions): Route[] {
  return tableRoutes({
    path: '/qr-codes',
    operationId: 'listQrCodes',
    access: 'viewer',
    tag,
    summary: 'List QR codes',
    description: 'The workspace’s codes. A page past the end is empty.',
    query: listQuery,
    jsonOnly: ['page', 'limit', 'cursor', 'ids', 'externalId'],
    answer: { status: 200, schema: qrCodePage, what: 'A page of codes' },
    files: [
      {
        format: 'csv',
        note: ' If records are damaged, a last line counts the omitted codes.',
        sample: codeTableSample,
      },
    ],
    failures: [],
    handle: async ({ actor, query }, format) => {
      const { page, limit, cursor, campaign, from, to, ids, externalId, ...rest } = query;
      checkOrder(from, to);
      if (ids !== undefined || externalId !== undefined) {
        assertAlone({ ids, externalId, ...rest, campaign, from, to, cursor });
        const found = viewsOf(ids ?? [externalId ?? ''], (one) =>
          ids === undefined
            ? codes.findByExternalId(actor.workspaceNo, one)
            : codes.find(actor.workspaceNo, one),
        );
        const named = found.views.flatMap((code) => code ?? []);
        const newest = named.sort((a, b) => b.createdAtMs - a.createdAtMs || b.no - a.no);
        const data = newest.slice((page - 1) * limit, page * limit);
        const shown = viewsOf(data, (code) => view.item(code));
        const unreadable = found.unreadable + shown.unreadable || undefined;
        return jsonResult(200, { data: shown.views, page, total: named.length, limit, unreadable });
      }
      const filter = { ...rest, campaignId: campaign, fromDay: from, toDay: to };
      if (format === 'csv') return codeTable(codes, view, actor.workspaceNo, filter);
      const own = positions.of(actor.workspaceNo, 'codes');
      const wanted = { filter, limit, page, cursor: own.read(cursor) };
      const found = await codes.list(actor.workspaceNo, wanted);
      const shown = viewsOf(found.data, (code) => view.item(code));
      return jsonResult(200, {
        data: shown.views,
        unreadable: found.unreadable + shown.unreadable || undefined,
        page,
        total: found.total,
        limit,
        nextCursor: own.write(found.nextCursor),
      });
    },
  });
}

/** @throws Failure validation_failed when there is another filter than the first */
function assertAlone(filters: object): void {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined);
  const [[first] = [''], [other] = [undefined]] = given;
  if (other === undefined) return;
  throw invalid(first, 'goes_alone', `Cannot filter by ${first} and by ${other}, expected one`);
}

function getOne({ codes, view }: QrCodesOptions): Route {
  return createRoute({
    method: 'GET',
    path: '/qr-codes/:id',
    operationId: 'getQrCode',
    access: 'viewer',
    tag,
    summary: 'Get a QR code',
    description: 'The code with its lifetime scans.',
    answer: { status: 200, schema: qrCode, what: 'The code', headers: ['ETag'] },
    failures: ['not_found'],
    handle: ({ actor, id }) => {
      const code = codes.get(actor.workspaceNo, id);
      return jsonResult(200, view.whole(code), { ETag: view.tag(code) });
    },
  });
}

function patchOne(options: QrCodesOptions): Route {
  return changeRoute(options, {
    method: 'PATCH',
    operationId: 'updateQrCode',
    summary: 'Update a QR code',
    description:
      'JSON merge patch. The printed code leads to a new `target` before this answer arrives. Emits `qr.updated` ' +
      'after a change.',
    body: patchBody,
    change: async (actor, id, body, check) =>
      await options.codes.change(actor, id, fieldsOf(body), check),
  });
}

function putOne(options: QrCodesOptions): Route {
  return changeRoute(options, {
    method: 'PUT',
    operationId: 'replaceQrCode',
    summary: 'Replace a QR code',
    description: 'Sets every changeable field; absent ones are reset. Otherwise like PATCH.',
    body: putBody,
    change: async (actor, id, body, check) => {
      const { codes, view } = options;
      assertFixed(body, view.whole(codes.get(actor.workspaceNo, id)));
      return await codes.replace(actor, id, fieldsOf(body), check);
    },
  });
}

/** They change by themselves, or are only in answers to a change: the API ignores them in a body. */
const ignoredFields = ['scans', 'status', 'warnings'];

/** @throws Failure validation_failed for each field that cannot change and differs */
function assertFixed(body: object, shown: object): void {
  const present = new Map<string, unknown>(Object.entries(shown));
  const wrong = Object.entries(body).filter(([name, value]) => {
    const isFree = Object.hasOwn(patchBody.shape, name) || ignoredFields.includes(name);
    return !isFree && !isDeepStrictEqual(value, present.get(name));
  });
  const message = 'This cannot change: omit it, or send the current value';
  const faults = wrong.map(([path]) => ({ path, code: 'read_only', message }));
  if (faults.length > 0) throw new Failure('validation_failed', message, { faults });
}

const ifMatchHeader = {
  'If-Match': z
    .string()
    .optional()
    .meta({
      description:
        'The `ETag` of your version of the code: after a later change, the answer is 412',
      param: { id: 'IfMatch' },
    }),
};

/** Refuses a code that is not one that `If-Match` names. */
function matching(view: CodeView, header: RawCall['header']): CodeCheck {
  const ifMatch = header('if-match');
  return (code) => {
    if (ifMatch === undefined || isMatched(ifMatch, view.tag(code))) return;
    throw new Failure('precondition_failed', 'The code has changed: get it and repeat your change');
  };
}

function changeRoute<B extends z.ZodType<object>>(
  { codes, view, ownHosts }: QrCodesOptions,
  {
    change,
    ...described
  }: Pick<RouteDescription, 'method' | 'operationId' | 'summary' | 'description'> & {
    readonly body: B;
    readonly change: (
      actor: Actor,
      id: string,
      body: z.output<B>,
      check: CodeCheck,
    ) => Promise<QrCodeRecord>;
  },
): Route {
  const bodies = changeBodies(described.body, ownHosts);
  return createRoute<typeof noQuery, B>({
    path: '/qr-codes/:id',
    access: 'editor',
    tag,
    answer: { status: 200, schema: qrCode, what: 'The code after the change', headers: ['ETag'] },
    requestHeaders: ifMatchHeader,
    failures: [
      'not_found',
      'static_code',
      'external_id_taken',
      'labels_exhausted',
      'precondition_failed',
      'unscannable',
      'storage_full',
    ],
    ...described,
    bodyFor: (actor, id) => bodies(codes.find(actor.workspaceNo, id)),
    handle: async ({ actor, id, body, header }) => {
      const code = await change(actor, id, body, matching(view, header));
      return jsonResult(200, view.changed(code), { ETag: view.tag(code) });
    },
  });
}

function deleteOne({ codes, view }: QrCodesOptions): Route {
  return deleteRoute({
    path: '/qr-codes/:id',
    operationId: 'deleteQrCode',
    access: 'editor',
    tag,
    summary: 'Delete a QR code',
    description:
      'Permanent: its redirect stops before this answer arrives, its short code is never reused, its analytics ' +
      'stay for 90 days. Emits `qr.deleted`.',
    requestHeaders: ifMatchHeader,
    failures: ['not_found', 'precondition_failed', 'storage_full'],
    remove: async (actor, id, header) => await codes.delete(actor, id, matching(view, header)),
  });
}
