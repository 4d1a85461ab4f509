/**
 * Answers to requests for images, in memory, by address and version of the image. A deleted code is 410 at once and a new
 * design is shown at once, because the version is that of the code as it is; nothing is drawn again without need.
 */
import { LRUCache } from 'lru-cache';

/** Cells of the map, header texts and objects of an entry, rounded up: bounds the number of small entries. */
const entryOverheadBytes = 500;

export interface ImageAnswer {
  readonly status: 200;
  readonly headers: Readonly<Record<string, string>> & { readonly ETag: string };
  readonly body: Uint8Array;
}

export type ImageCache = LRUCache<string, ImageAnswer>;

/** @param bytesMax 0 = off */
export const createImageCache = (bytesMax: number): ImageCache =>
  new LRUCache({
    // lru-cache takes 0 for "no bound". No entry is as small as 1 byte.
    maxSize: Math.max(1, bytesMax),
    sizeCalculation: ({ body }, key) => body.length + 2 * key.length + entryOverheadBytes,
  });
