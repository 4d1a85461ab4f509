/**
 * POST /qr-codes/preview: what a code would look like, or why its design is refused.
 * POST /qr-codes/images: the images of many codes as one ZIP.
 */
import { z } from 'zod';
import type { Codes } from '../../product/codes/codes.ts';
import { isFaults, validateTarget } from '../../product/codes/targets.ts';
import type { ArchiveEntry } from '../../product/images/archive.ts';
import { fileName } from '../../product/images/file-name.ts';
import { type ImageSource, imageContent } from '../../product/images/content.ts';
import { styleOf } from '../../product/images/design/style.ts';
import type { CodeType } from '../../model/code.ts';
import { Failure } from '../../model/failure.ts';
import { BulkGate } from '../codes/bulk-gate.ts';
import { archiveBody, previewBody } from './image-schemas.ts';
import { withLogoBodyLimit } from './logo-body-limit.ts';
import { createRoute, type Route, type StreamedResult } from '../kernel/route.ts';
import type { ApiServices } from '../services.ts';

const tag = 'QR codes';
/** For a code that does not exist yet. Any generated short code gives a symbol of the same size. */
const sampleShortCode = 'K7RM2X9D';

export type PreviewsOptions = Pick<ApiServices, 'designs' | 'images'> & {
  readonly codes: Codes;
  readonly shortUrlBase: string;
  readonly ownHosts: readonly string[];
};

export function previewRoutes(options: PreviewsOptions): Route[] {
  return [withLogoBodyLimit(previewOne(options)), archiveMany(options)];
}

function previewOne({ codes, designs, ownHosts }: PreviewsOptions): Route {
  return createRoute({
    method: 'POST',
    path: '/qr-codes/preview',
    operationId: 'previewQrCode',
    access: 'viewer',
    isSlow: true,
    tag,
    summary: 'Preview a design',
    description:
      'Draws a code in a design and reads it back, without storing it. The answer is the image, or 422 ' +
      '`unscannable` with the changes to make.',
    body: previewBody,
    isRepeatable: true,
    answer: {
      status: 200,
      schema: z.string(),
      what: 'The image',
      mediaTypes: ['image/svg+xml', 'image/png'],
    },
    failures: ['not_found', 'unscannable'],
    handle: async ({ actor, body }): Promise<StreamedResult> => {
      const { id, target, type, design, format, size } = body;
      const source =
        id === undefined ? sampleOf(type, target, ownHosts) : codes.get(actor.workspaceNo, id);
      const bytes = await designs.preview(actor.workspaceNo, source, design, { format, size });
      const contentType = format === 'svg' ? 'image/svg+xml' : 'image/png';
      return { status: 200, headers: { 'Content-Type': contentType }, body: bytes };
    },
  });
}

function archiveMany({ codes, images, shortUrlBase }: PreviewsOptions): Route {
  const gate = new BulkGate();
  return createRoute({
    method: 'POST',
    path: '/qr-codes/images',
    operationId: 'downloadImages',
    access: 'viewer',
    isSlow: true,
    tag,
    summary: 'Download many images',
    description:
      'The images of up to 1,000 codes as one ZIP, drawn during the download. File names have the code’s name ' +
      'and short code. `NOT-DRAWN.txt` lists codes that cannot be drawn at this size. ' +
      'Costs one request.',
    body: archiveBody,
    isRepeatable: true,
    answer: {
      status: 200,
      schema: z.string(),
      what: 'The ZIP',
      mediaTypes: ['application/zip'],
      headers: ['Content-Disposition'],
    },
    failures: [],
    handle: async ({ actor, body }): Promise<StreamedResult> => {
      const { ids, format, size } = body;
      const found = ids.map((id) => codes.find(actor.workspaceNo, id));
      const faults = found.flatMap((code, at) =>
        code === undefined
          ? [{ path: `ids.${at}`, code: 'not_found', message: 'QR code not found' }]
          : [],
      );
      if (faults.length > 0) {
        throw new Failure('validation_failed', 'Some of the codes do not exist', { faults });
      }
      const entries = found
        .filter((code) => code !== undefined)
        .map((code): ArchiveEntry => {
          const content = imageContent(code, shortUrlBase);
          const request = { content, format, size, style: styleOf(code.design) };
          // A short code of several segments would be a folder.
          const unique = code.shortCode?.includes('/') === false ? code.shortCode : code.id;
          const name = fileName(code.name, unique, format);
          return { name, request, changedAtMs: code.updatedAtMs };
        });
      const { archiveImages } = await import('../../product/images/archive.ts');
      const pieces = archiveImages(entries, (request) => images.render(request));
      return {
        status: 200,
        headers: {
          'Content-Type': 'application/zip',
          'Content-Disposition': 'attachment; filename="qr-codes.zip"',
        },
        body: gated(pieces, () => gate.enter(actor.workspaceNo)),
      };
    },
  });
}

/**
 * Enters the gate when the first piece is read, not before: an answer that is never sent is never ended
 * either. Leaves after the last piece, or when the reader stops.
 */
async function* gated(
  pieces: AsyncIterable<Uint8Array>,
  enter: () => Promise<() => void>,
): AsyncGenerator<Uint8Array> {
  const leave = await enter();
  try {
    yield* pieces;
  } finally {
    leave();
  }
}

/** @throws Failure validation_failed */
function sampleOf(
  type: CodeType,
  target: string | undefined,
  ownHosts: readonly string[],
): ImageSource {
  if (target === undefined) return { dynamic: true, shortCode: sampleShortCode, target: '' };
  const checked = validateTarget(type, target, ownHosts);
  if (isFaults(checked)) {
    throw new Failure('validation_failed', 'The target cannot be used', { faults: checked });
  }
  return { dynamic: false, target: checked.target };
}
