/**
 * Images on demand: memory, then one drawing for all who ask at once, which is the disk or the pool.
 *
 *   render --> memory? --> on its way? --> disk? --> pool (bounded, 503 when full) --> memory, disk
 *
 * An image depends on its request alone, so nothing is ever stale and nothing needs to be told of a
 * change: a re-targeted code keeps its image, another design is another request, a deleted code is refused
 * before it gets here. What is drawn from the matrix in a millisecond is not worth a file.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../model/clock.ts';
import type { Management } from '../store/management/management.ts';
import { createPool, type PoolStats } from '../workers/pool.ts';
import { ByteBoundedCache } from './cache.ts';
import { ScannabilityCheck } from './design/scannability-check.ts';
import { DiskCache, type DiskCacheStats } from './disk-cache.ts';
import type { ImageFormat, ImageRequest } from './draw/drawing.ts';
import { Logos } from './logo/logos.ts';
import { LogoStore } from './logo/logo-store.ts';
import { drawingVersion, isBitmap, styleKey, plainStyle } from './design/style.ts';
import type { LogoImage } from './draw/picture.ts';
import { type ImagePool, pooledWork } from './pooled-work.ts';
import type { ImageTask, ImageTaskResult, ImageWork } from './work.ts';

const contentTypes: Readonly<Record<ImageFormat, string>> = {
  png: 'image/png',
  svg: 'image/svg+xml',
  pdf: 'application/pdf',
  eps: 'application/postscript',
  webp: 'image/webp',
};

export interface RenderedImage {
  readonly bytes: Uint8Array;
  /** Strong validator with its quotes: a hash of the bytes. */
  readonly etag: string;
  readonly contentType: string;
}

export interface ImageStats {
  readonly cacheBytes: number;
  readonly cacheCount: number;
  readonly disk: DiskCacheStats;
  readonly drawn: number;
}

export interface ImageServiceOptions {
  readonly work: ImageWork;
  /** Drawn images kept in memory, in bytes; 0 = none. */
  readonly cacheBytesMax: number;
  readonly disk: DiskCache;
  /** The picture of a stored logo. */
  readonly logoOf: (name: string) => Promise<LogoImage>;
}

export class ImageService {
  readonly #options: ImageServiceOptions;
  readonly #cache: ByteBoundedCache<RenderedImage>;
  readonly #drawing = new Map<string, Promise<RenderedImage>>();
  #drawn = 0;

  constructor(options: ImageServiceOptions) {
    this.#options = options;
    this.#cache = new ByteBoundedCache(options.cacheBytesMax);
  }

  /**
   * The image of `request.content`; its bytes are shared and must not be written to.
   * @throws Failure `validation_failed` (content or size), `overloaded` (queue full)
   */
  async render(request: ImageRequest): Promise<RenderedImage> {
    const { format, size, content, look = plainStyle } = request;
    const key = `${drawingVersion} ${format} ${size} ${styleKey(look)} ${content}`;
    const known = this.#cache.find(key) ?? this.#drawing.get(key);
    if (known !== undefined) return known;
    const drawing = this.#obtain(key, request).then((bytes) => {
      const image = describe(bytes, format);
      this.#cache.put(key, image, bytes.length);
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
    return { cacheBytes, cacheCount, disk: this.#options.disk.stats(), drawn: this.#drawn };
  }

  async #obtain(key: string, request: ImageRequest): Promise<Uint8Array> {
    const { work, disk, logoOf } = this.#options;
    const { format, look = plainStyle } = request;
    const isCheap = format === 'svg' || (format === 'png' && isBitmap(look));
    const kept = isCheap ? undefined : await disk.find(key);
    if (kept !== undefined) return kept;
    const logo = look.logo === undefined ? undefined : await logoOf(look.logo);
    const bytes = await work.draw({ ...request, logo });
    this.#drawn += 1;
    if (!isCheap) void disk.put(key, bytes);
    return bytes;
  }
}

function describe(bytes: Uint8Array, format: ImageFormat): RenderedImage {
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  return { bytes, etag: `"${hash}"`, contentType: contentTypes[format] };
}

export interface ImagesOptions {
  /** Drawing threads, ≥ 1. */
  readonly threads: number;
  /** Drawings that wait; one more is `Failure('overloaded')`. */
  readonly queueMax: number;
  readonly cacheBytesMax: number;
  /** Drawn images kept on the disk, in bytes; 0 = none. */
  readonly diskCacheBytesMax: number;
  /** Holds `logos`, and `cache/images`, which a backup leaves out. */
  readonly dataDir: string;
  readonly shortUrlBase: string;
  readonly store: Management;
  readonly clock: Clock;
}

export interface Images {
  readonly service: ImageService;
  readonly logos: Logos;
  readonly designs: ScannabilityCheck;
  stats(): ImageStats & { readonly pool: PoolStats };
  close(): Promise<void>;
}

/** Opens the room with its pool. */
export function openImages(options: ImagesOptions): Images {
  const file = new URL('./render.worker.ts', import.meta.url);
  const { threads, queueMax } = options;
  const pool: ImagePool = createPool<ImageTask, ImageTaskResult>({ file, threads, queueMax });
  const { service, logos, designs } = assembleImages(options, pooledWork(pool));
  return {
    service,
    logos,
    designs,
    stats: () => ({ ...service.stats(), pool: pool.stats() }),
    close: () => pool.close(),
  };
}

/** The room around whoever does its work. */
export function assembleImages(
  options: Omit<ImagesOptions, 'threads' | 'queueMax'>,
  work: ImageWork,
): Pick<Images, 'service' | 'logos' | 'designs'> {
  const { store, clock, dataDir, shortUrlBase, cacheBytesMax, diskCacheBytesMax } = options;
  const disk = new DiskCache(join(dataDir, 'cache', 'images'), diskCacheBytesMax, clock);
  const shelf = new LogoStore(join(dataDir, 'logos'));
  const clean: ImageWork['cleanLogo'] = (bytes, mediaType) => work.cleanLogo(bytes, mediaType);
  const logos = new Logos({ store, clock, shelf, clean });
  const logoOf = (name: string): Promise<LogoImage> => logos.picture(name);
  const service = new ImageService({ work, cacheBytesMax, disk, logoOf });
  const designs = new ScannabilityCheck({ work, logos, shortUrlBase });
  return { service, logos, designs };
}
