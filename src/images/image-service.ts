/**
 * Images on demand: cache, then one drawing for all who ask at once, then the pool.
 *
 *   render --> cache? --> being drawn? --> pool (bounded, 503 when full) --> cache
 *
 * An image depends on its request alone, so nothing is ever stale and nothing needs to be told of a
 * change: a re-targeted code keeps its image, a deleted code is refused before it gets here.
 * A thread that dies while drawing costs one repetition; a second death is a defect and surfaces.
 */
import { createHash } from 'node:crypto';
import { createPool, WorkerDied, type Pool, type PoolStats } from '../workers/pool.ts';
import { ByteBoundedCache } from './cache.ts';
import type { ImageFormat, ImageRequest } from './drawing.ts';

const contentTypes: Record<ImageFormat, string> = { png: 'image/png', svg: 'image/svg+xml' };

export interface RenderedImage {
  readonly bytes: Uint8Array;
  /** Strong validator with its quotes: a hash of the bytes. */
  readonly etag: string;
  readonly contentType: string;
}

export interface ImageServiceOptions {
  /** Drawing threads, ≥ 1. */
  readonly threads: number;
  /** Drawings that wait; one more is `Failure('overloaded')`. */
  readonly queueMax: number;
  /** Drawn images kept in memory, in bytes; 0 = none. */
  readonly cacheBytesMax: number;
}

export interface ImageStats {
  readonly cacheBytes: number;
  readonly cacheCount: number;
  readonly drawn: number;
  readonly pool: PoolStats;
}

export class ImageService {
  readonly #pool: Pool<ImageRequest, Uint8Array>;
  readonly #cache: ByteBoundedCache<RenderedImage>;
  readonly #drawing = new Map<string, Promise<RenderedImage>>();
  #drawn = 0;

  constructor(pool: Pool<ImageRequest, Uint8Array>, cacheBytesMax: number) {
    this.#pool = pool;
    this.#cache = new ByteBoundedCache(cacheBytesMax);
  }

  /**
   * The image of `request.content`; its bytes are shared and must not be written to.
   * @throws Failure `validation_failed` (content or size), `overloaded` (queue full)
   */
  async render(request: ImageRequest): Promise<RenderedImage> {
    const key = `${request.format} ${request.size} ${request.content}`;
    const known = this.#cache.find(key) ?? this.#drawing.get(key);
    if (known !== undefined) return known;
    const drawing = this.#draw(request).then((image) => {
      this.#cache.put(key, image, image.bytes.length);
      return image;
    });
    this.#drawing.set(key, drawing);
    try {
      return await drawing;
    } finally {
      this.#drawing.delete(key);
    }
  }

  stats(): ImageStats {
    const { bytes: cacheBytes, count: cacheCount } = this.#cache;
    return { cacheBytes, cacheCount, drawn: this.#drawn, pool: this.#pool.stats() };
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  async #draw(request: ImageRequest): Promise<RenderedImage> {
    const bytes = await this.#pool.run(request).catch((error: unknown) => {
      if (error instanceof WorkerDied) return this.#pool.run(request);
      throw error;
    });
    this.#drawn += 1;
    const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
    return { bytes, etag: `"${hash}"`, contentType: contentTypes[request.format] };
  }
}

/** Opens the service with its pool; `close` ends both. */
export function openImageService(options: ImageServiceOptions): ImageService {
  const file = new URL('./render.worker.ts', import.meta.url);
  const { threads, queueMax } = options;
  return new ImageService(createPool({ file, threads, queueMax }), options.cacheBytesMax);
}
