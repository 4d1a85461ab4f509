/**
 * /qr-codes: create, list, read, change, replace, delete. Shapes in, records out; the rules are those of
 * codes/. The answer of a create is kept for its Idempotency-Key in the create's transaction.
 */
import type { Codes } from '../../codes/codes.ts';
import type { QrCodeRecord } from '../../model/code.ts';
import { csvFormat, formatOf } from '../csv.ts';
import { checkOrder } from '../fields.ts';
import { withLogoBodyLimit } from '../images/logo-body-limit.ts';
import { createRoute, jsonResult, type Route } from '../route.ts';
import { changeBodies, fieldsOf, newCodeBody } from './code-bodies.ts';
import {
  createBody,
  deleted,
  listQuery,
  patchBody,
  putBody,
  qrCode,
  qrCodePage,
} from './code-schemas.ts';
import { codeTable } from './code-table.ts';
import type { CodeView } from './code-view.ts';

const tag = 'QR codes';

export interface QrCodesOptions {
  readonly codes: Codes;
  readonly view: CodeView;
  /** `host[:port]` of the short links: no target may point back at them. */
  readonly ownHosts: readonly string[];
  /** Of a body without a logo. */
}

export function qrCodeRoutes(options: QrCodesOptions): Route[] {
  return [
    withLogoBodyLimit(createOne(options)),
    listMany(options),
    getOne(options),
    withLogoBodyLimit(patchOne(options)),
    withLogoBodyLimit(putOne(options)),
    deleteOne(options),
  ];
}

function createOne({ codes, view, ownHosts }: QrCodesOptions): Route {
  const checkedBody = newCodeBody(createBody, ownHosts);
  return createRoute({
    method: 'POST',
    path: '/qr-codes',
    operationId: 'createQrCode',
    tag,
    summary: 'Create a QR code',
    description:
      'Makes a code; a dynamic one gets a short URL that works before this answer arrives. ' +
      'Emits `qr.created`.',
    body: createBody,
    answer: { status: 201, schema: qrCode, what: 'The code; Location names it' },
    failures: ['slug_taken', 'unscannable', 'idempotency_conflict', 'storage_full'],
    bodyFor: () => checkedBody,
    handle: async ({ actor, body, keep }) => {
      const created = (code: QrCodeRecord) =>
        jsonResult(201, view.whole(code), { Location: `/v1/qr-codes/${code.id}` });
      const code = await codes.create(actor, fieldsOf(body), (made) => keep(created(made)));
      return created(code);
    },
  });
}

function listMany({ codes, view }: QrCodesOptions): Route {
  return createRoute({
    method: 'GET',
    path: '/qr-codes',
    operationId: 'listQrCodes',
    tag,
    summary: 'List QR codes',
    description:
      'The workspace’s codes, newest first. A page past the end is empty. As CSV: every code of the ' +
      'filter at once, whatever the page.',
    query: listQuery.extend({ format: csvFormat }),
    answer: {
      status: 200,
      schema: qrCodePage,
      what: 'A page of codes, or the table of all',
      mediaTypes: ['application/json', 'text/csv'],
    },
    failures: [],
    handle: async ({ actor, query, header }) => {
      const { page, limit, cursor, campaign, from, to, format, ...rest } = query;
      checkOrder(from, to);
      const filter = { ...rest, campaignId: campaign, fromDay: from, toDay: to };
      if (formatOf(format, header('accept'), ['json', 'csv']) === 'csv') {
        return codeTable(codes, view, actor.workspaceNo, filter);
      }
      const found = await codes.list(actor.workspaceNo, {
        filter,
        limit,
        page,
        ...(cursor === undefined ? {} : { cursor }),
      });
      return jsonResult(200, {
        data: found.data.map((code) => view.item(code)),
        page,
        total: found.total,
        limit,
        nextCursor: found.nextCursor,
      });
    },
  });
}

function getOne({ codes, view }: QrCodesOptions): Route {
  return createRoute({
    method: 'GET',
    path: '/qr-codes/:id',
    operationId: 'getQrCode',
    tag,
    summary: 'Get a QR code',
    description: 'The whole resource with its lifetime scans.',
    answer: { status: 200, schema: qrCode, what: 'The code' },
    failures: ['not_found'],
    handle: ({ actor, params }) =>
      jsonResult(200, view.whole(codes.get(actor.workspaceNo, params.id ?? ''))),
  });
}

function patchOne({ codes, view, ownHosts }: QrCodesOptions): Route {
  const bodies = changeBodies(patchBody, ownHosts);
  return createRoute({
    method: 'PATCH',
    path: '/qr-codes/:id',
    operationId: 'updateQrCode',
    tag,
    summary: 'Update a QR code',
    description:
      'JSON merge patch. A new `target` is what the printed code leads to before this answer ' +
      'arrives. Emits `qr.updated` when something changed.',
    body: patchBody,
    answer: { status: 200, schema: qrCode, what: 'The code as it is now' },
    failures: ['not_found', 'static_code', 'unscannable', 'storage_full'],
    bodyFor: (actor, id) => bodies.get(codes.find(actor.workspaceNo, id)?.type),
    handle: async ({ actor, params, body }) => {
      const code = await codes.change(actor, params.id ?? '', fieldsOf(body));
      return jsonResult(200, view.whole(code));
    },
  });
}

function putOne({ codes, view, ownHosts }: QrCodesOptions): Route {
  const bodies = changeBodies(putBody, ownHosts);
  return createRoute({
    method: 'PUT',
    path: '/qr-codes/:id',
    operationId: 'replaceQrCode',
    tag,
    summary: 'Replace a QR code',
    description: 'Sets every changeable field; absent ones are reset. Otherwise like PATCH.',
    body: putBody,
    answer: { status: 200, schema: qrCode, what: 'The code as it is now' },
    failures: ['not_found', 'static_code', 'unscannable', 'storage_full'],
    bodyFor: (actor, id) => bodies.get(codes.find(actor.workspaceNo, id)?.type),
    handle: async ({ actor, params, body }) => {
      const code = await codes.replace(actor, params.id ?? '', fieldsOf(body));
      return jsonResult(200, view.whole(code));
    },
  });
}

function deleteOne({ codes }: QrCodesOptions): Route {
  return createRoute({
    method: 'DELETE',
    path: '/qr-codes/:id',
    operationId: 'deleteQrCode',
    tag,
    summary: 'Delete a QR code',
    description:
      'For good: its redirect stops before this answer arrives, its short code is never given ' +
      'out again, its analytics answer for 90 days. Emits `qr.deleted`.',
    answer: { status: 200, schema: deleted, what: 'It is deleted' },
    failures: ['not_found', 'storage_full'],
    handle: async ({ actor, params }) => {
      const code = await codes.delete(actor, params.id ?? '');
      return jsonResult(200, { deleted: true, id: code.id });
    },
  });
}
