/** What stands in for the engine where a test has none: images that say what was asked for, and counting that is done. */
import { createHash } from 'node:crypto';
import type { ImageDrawing } from '../../../src/api/services.ts';
import type { Counting } from '../../../src/campaigns/campaign-scheduler.ts';

/** Every scan is counted at once. */
export const counted: Counting = { mark: () => ({ isPast: () => true }) };

/** Images that say what was asked for. */
export const fakeImages: ImageDrawing = {
  render: async (request) => {
    const bytes = Buffer.from(JSON.stringify(request));
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    const contentType = request.format === 'svg' ? 'image/svg+xml' : `image/${request.format}`;
    return { bytes, etag, contentType };
  },
};
