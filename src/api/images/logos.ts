/**
 * /logos: pictures for the middle of codes. Sent as a file or as a data URL, stored as a cleaned PNG that is
 * named by its content: the same file is the same logo.
 */
import { logoName, readDataUrl } from '../../product/images/design/design.ts';
import type { Logos } from '../../product/images/logo/logos.ts';
import { type LogoMediaType, logoMediaTypes } from '../../product/images/formats.ts';
import { Failure } from '../../model/failure.ts';
import { check, validationFailure } from '../kernel/faults.ts';
import { designBodyBytesMax, logo, logoBody, logoBodyMedia, logoList } from './image-schemas.ts';
import { parseJson } from '../../model/json.ts';
import { createRoute, jsonResult, mediaTypeOf, type RawCall, type Route } from '../kernel/route.ts';
import { view } from '../kernel/view.ts';

const tag = 'QR codes';

export function logoRoutes(logos: Logos): Route[] {
  return [addOne(logos), listAll(logos), getOne(logos)];
}

function addOne(logos: Logos): Route {
  return {
    method: 'POST',
    path: '/logos',
    operationId: 'createLogo',
    access: 'editor',
    tag,
    summary: 'Upload a logo',
    description:
      'PNG, JPEG or SVG of at most 256 KB. Stored as a redrawn PNG of at most 1,024 pixels on an edge. An SVG ' +
      'with external references is refused.',
    body: logoBody,
    bodyMedia: logoBodyMedia,
    bodyBytesMax: designBodyBytesMax,
    answer: {
      status: 201,
      schema: logo,
      what: 'The logo; its id goes into `design.logo`, Location names it',
    },
    failures: ['conflict', 'idempotency_conflict', 'storage_full'],
    run: async (call) => {
      const { actor } = call;
      if (actor === undefined) throw new Error('Cannot store a logo: no actor');
      const { bytes, mediaType } = await readFile(call);
      const added = await logos.add(actor.workspaceNo, bytes, mediaType);
      const result = jsonResult(201, view(logo, added), { Location: `/v1/logos/${added.id}` });
      call.keep?.(result);
      return result;
    },
  };
}

function listAll(logos: Logos): Route {
  return createRoute({
    method: 'GET',
    path: '/logos',
    operationId: 'listLogos',
    access: 'viewer',
    tag,
    summary: 'List logos',
    description: 'All logos of the workspace, newest first; at most 200.',
    answer: { status: 200, schema: logoList, what: 'The logos' },
    failures: [],
    handle: ({ actor }) => {
      const all = logos.list(actor.workspaceNo);
      return jsonResult(200, { data: all.map((one) => view(logo, one)), total: all.length });
    },
  });
}

function getOne(logos: Logos): Route {
  return createRoute({
    method: 'GET',
    path: '/logos/:id',
    operationId: 'getLogo',
    access: 'viewer',
    tag,
    summary: 'Get a logo',
    description: 'Its size and use; the images of codes show its picture.',
    answer: { status: 200, schema: logo, what: 'The logo' },
    failures: ['not_found'],
    handle: ({ actor, params }) => {
      // Some clients escape the colon in a path.
      const id = (params.id ?? '').replace(/%3a/i, ':');
      const found = logoName.test(id) ? logos.find(actor.workspaceNo, id) : undefined;
      if (found === undefined) throw new Failure('not_found', 'Logo not found');
      return jsonResult(200, view(logo, found));
    },
  });
}

/** @throws Failure unsupported_media_type, invalid_json, validation_failed, body_too_large */
async function readFile(
  call: RawCall,
): Promise<{ readonly bytes: Uint8Array; readonly mediaType: LogoMediaType }> {
  const { name } = mediaTypeOf(call.header('content-type'));
  const own = logoMediaTypes.find((type): type is LogoMediaType => type === name);
  if (own !== undefined) return { bytes: await call.body(), mediaType: own };
  if (name !== 'application/json') {
    throw new Failure(
      'unsupported_media_type',
      'Cannot read the body: expected image/png, image/jpeg, image/svg+xml, or JSON with a data URL',
    );
  }
  const checked = check(logoBody, parseJson(await call.body()));
  if (!checked.ok) throw validationFailure(checked.faults, 'body');
  return readDataUrl(checked.value.data);
}
