/**
 * /qr-codes: create, list, read, change, replace, delete. Shapes in, records out; the rules are the
 * codes room's. The answer of a create is kept for its Idempotency-Key in the create's transaction.
 */
import type { Codes } from '../../codes/codes.ts';
import { contentFaults } from '../../codes/rules.ts';
import { isFaults, validateTarget } from '../../codes/targets.ts';
import { codeTypes, type CodeType, type QrCodeRecord } from '../../model/code.ts';
import type { Actor } from '../../model/workspace.ts';
import { Failure, type Fault } from '../../model/failure.ts';
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
import { csvFormat, formatOf } from '../csv.ts';
import { noBody, noQuery } from '../fields.ts';
import { withLogoRoom } from '../images/logo-body-limit.ts';
import { createRoute, jsonResult, type Route } from '../route.ts';

const tag = 'QR codes';

export interface QrCodesOptions {
  readonly codes: Codes;
  readonly view: CodeView;
  /** `host[:port]` of the short links: no target may point back at them. */
  readonly ownHosts: readonly string[];
  /** Of a body without a logo. */
  readonly bodyBytesMax: number;
}

export function qrCodeRoutes(options: QrCodesOptions): Route[] {
  const roomy = (route: Route): Route => withLogoRoom(route, options.bodyBytesMax);
  return [
    roomy(createOne(options)),
    listMany(options),
    getOne(options),
    roomy(patchOne(options)),
    roomy(putOne(options)),
    deleteOne(options),
  ];
}

function createOne({ codes, view, ownHosts }: QrCodesOptions): Route {
  return createRoute({
    method: 'POST',
    path: '/qr-codes',
    operationId: 'createQrCode',
    tag,
    summary: 'Create a QR code',
    description:
      'Makes a code; a dynamic one gets a short URL that works before this answer arrives. ' +
      'Emits `qr.created`.',
    query: noQuery,
    body: createBody,
    answer: { status: 201, schema: qrCode, what: 'The code; Location names it' },
    failures: ['slug_taken', 'unscannable', 'idempotency_conflict', 'storage_full'],
    alsoCheck: (raw) => createFaults(raw, ownHosts),
    handle: async ({ actor, body, keep }) => {
      const { expiresAt, ...rest } = body;
      const draft = { ...rest, expiresAtMs: expiresAt };
      const created = (code: QrCodeRecord) =>
        jsonResult(201, view.whole(code), { Location: `/v1/qr-codes/${code.id}` });
      const code = await codes.create(actor, draft, (made) => keep(created(made)));
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
    body: noBody,
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
    query: noQuery,
    body: noBody,
    answer: { status: 200, schema: qrCode, what: 'The code' },
    failures: ['not_found'],
    handle: ({ actor, params }) => {
      const code = codes.find(actor.workspaceNo, params.id ?? '');
      if (code === undefined) throw unknownCode();
      return jsonResult(200, view.whole(code));
    },
  });
}

function patchOne(options: QrCodesOptions): Route {
  const { codes, view } = options;
  return createRoute({
    method: 'PATCH',
    path: '/qr-codes/:id',
    operationId: 'updateQrCode',
    tag,
    summary: 'Update a QR code',
    description:
      'JSON merge patch. A new `target` is what the printed code leads to before this answer ' +
      'arrives. Emits `qr.updated` when something changed.',
    query: noQuery,
    body: patchBody,
    answer: { status: 200, schema: qrCode, what: 'The code as it is now' },
    failures: ['not_found', 'static_code', 'unscannable', 'storage_full'],
    alsoCheck: changedTargetFaults(options),
    handle: async ({ actor, params, body }) => {
      const { expiresAt, ...rest } = body;
      const change = { ...rest, expiresAtMs: expiresAt };
      const code = await codes.change(actor, params.id ?? '', change);
      return jsonResult(200, view.whole(code));
    },
  });
}

function putOne(options: QrCodesOptions): Route {
  const { codes, view } = options;
  return createRoute({
    method: 'PUT',
    path: '/qr-codes/:id',
    operationId: 'replaceQrCode',
    tag,
    summary: 'Replace a QR code',
    description: 'Sets every changeable field; absent ones are reset. Otherwise like PATCH.',
    query: noQuery,
    body: putBody,
    answer: { status: 200, schema: qrCode, what: 'The code as it is now' },
    failures: ['not_found', 'static_code', 'unscannable', 'storage_full'],
    alsoCheck: changedTargetFaults(options),
    handle: async ({ actor, params, body }) => {
      const { expiresAt, ...rest } = body;
      const replacement = { ...rest, expiresAtMs: expiresAt };
      const code = await codes.replace(actor, params.id ?? '', replacement);
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
    query: noQuery,
    body: noBody,
    answer: { status: 200, schema: deleted, what: 'It is deleted' },
    failures: ['not_found', 'storage_full'],
    handle: async ({ actor, params }) => {
      const code = await codes.delete(actor, params.id ?? '');
      return jsonResult(200, { deleted: true, id: code.id });
    },
  });
}

/** The faults of a new code's target, slug and kind, when its other fields are at fault already. */
export function createFaults(raw: unknown, ownHosts: readonly string[]): readonly Fault[] {
  const given = fieldOf(raw, 'type') ?? 'url';
  const type = codeTypes.find((name) => name === given);
  if (type === undefined) return [];
  const [slug, dynamic] = [fieldOf(raw, 'slug'), fieldOf(raw, 'dynamic')];
  const content = {
    type,
    dynamic: typeof dynamic === 'boolean' ? dynamic : type === 'url',
    ...(typeof slug === 'string' ? { slug } : {}),
    tags: [],
    metadata: {},
  };
  return [...targetFaults(type, raw, ownHosts), ...contentFaults(content)];
}

/** For a change of an existing code: its type says what its target may be. */
function changedTargetFaults({ codes, ownHosts }: QrCodesOptions) {
  return (raw: unknown, actor: Actor, id: string): readonly Fault[] => {
    const code = codes.find(actor.workspaceNo, id);
    return code === undefined ? [] : targetFaults(code.type, raw, ownHosts);
  };
}

/** The faults of a target in a body whose other fields are at fault already. */
function targetFaults(type: CodeType, raw: unknown, ownHosts: readonly string[]): readonly Fault[] {
  const target = fieldOf(raw, 'target');
  if (typeof target !== 'string') return [];
  const verdict = validateTarget(type, target, ownHosts);
  return isFaults(verdict) ? verdict : [];
}

function fieldOf(raw: unknown, name: string): unknown {
  if (typeof raw !== 'object' || raw === null) return undefined;
  return Object.entries(raw).find(([key]) => key === name)?.[1];
}

export function unknownCode(): Failure {
  return new Failure('not_found', 'There is no such QR code in this workspace');
}

/** @throws Failure validation_failed when the range runs backwards */
export function checkOrder(from: number | undefined, to: number | undefined): void {
  if (from === undefined || to === undefined || from <= to) return;
  throw new Failure('validation_failed', 'The range runs backwards', {
    faults: [{ path: 'from', code: 'after_to', message: 'Expected `from` not after `to`' }],
  });
}
