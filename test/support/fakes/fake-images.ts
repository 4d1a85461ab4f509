/** Images that say what was asked for. */
import { createHash } from 'node:crypto';
import type { ImageDrawing } from '../../../src/api/services.ts';

export const fakeImages: ImageDrawing = {
  render: async (request) => {
    const bytes = Buffer.from(JSON.stringify(request));
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    const contentType = request.format === 'svg' ? 'image/svg+xml' : `image/${request.format}`;
    return { bytes, etag, contentType };
  },
};
