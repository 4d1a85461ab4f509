/**
 * Images on demand: requests for the same image share one drawing by the pool, which is bounded (503 when it is full).
 * An image depends on its request alone: a re-targeted code keeps its image, and another design is another request.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../model/clock.ts';
import { shipped } from '../../platform/shipped.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { ImageCache } from './image-cache.ts';
import type { Management } from '../../store/management/management.ts';
import { createPool, type Pool, WorkerDied } from '../../platform/workers/pool.ts';
import { ScannabilityCheck } from './design/scannability-check.ts';
import type { ImageFormat, ImageRequest } from './formats.ts';
import { Logos } from './logo/logos.ts';
import { styleKey, plainStyle } from './design/style.ts';
import type { LogoImage } from './draw/picture.ts';
import type { ImageTask, ImageTasks } from './tasks.ts';

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

export interface ImageServiceOptions {
  readonly tasks: ImageTasks;
  /** The picture of a stored logo. */
  readonly logoOf: (name: string) => LogoImage;
}

export class ImageService {
  readonly #options: ImageServiceOptions;
  readonly #drawing = new Map<string, Promise<RenderedImage>>();
  #drawn = 0;

  constructor(options: ImageServiceOptions) {
    this.#options = options;
  }

  /**
   * The image of `request.content`. Its bytes are shared: do not write to them.
   * @throws Failure `validation_failed` (content or size), `overloaded` (queue full)
   */
  async render(request: ImageRequest): Promise<RenderedImage> {
    const { format, size, content, style = plainStyle } = request;
    const key = `${format} ${size} ${styleKey(style)} ${content}`;
    const underWay = this.#drawing.get(key);
    if (underWay !== undefined) return underWay;
    const drawing = this.#draw(request).then((bytes) => describe(bytes, format));
    this.#drawing.set(key, drawing);
    try {
      return await drawing;
    } finally {
      this.#drawing.delete(key);
    }
  }

  get drawn(): number {
    return this.#drawn;
  }

  async #draw(request: ImageRequest): Promise<Uint8Array> {
    const { tasks, logoOf } = this.#options;
    const { style = plainStyle } = request;
    const logo = style.logo === undefined ? undefined : logoOf(style.logo);
    const bytes = await tasks.draw({ ...request, logo });
    this.#drawn += 1;
    return bytes;
  }
}

function describe(bytes: Uint8Array, format: ImageFormat): RenderedImage {
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  return { bytes, etag: `"${hash}"`, contentType: contentTypes[format] };
}

/** Drawings that wait; one more is `Failure('overloaded')`. */
const queueMax = 1_000;

export interface ImagesOptions {
  /** Drawing threads, ≥ 1. */
  readonly threads: number;
  /** Of the threads, when nothing is drawn; absent = 5 minutes. */
  readonly restMs?: number | undefined;
  readonly shortUrlBase: string;
  readonly store: Management;
  readonly clock: Clock;
}

export interface Images {
  readonly service: ImageService;
  readonly logos: Logos;
  readonly designs: ScannabilityCheck;
  readonly pool: Pick<ImagePool, 'stats'>;
  close(): Promise<void>;
}

/** Opens the module with its pool. */
export function openImages(options: ImagesOptions): Images {
  const file = shipped.workerFile('render');
  const { threads, restMs } = options;
  const pool: ImagePool = createPool({ file, threads, queueMax, restMs });
  return { ...assembleImages(options, pooledTasks(pool)), pool, close: () => pool.close() };
}

export type ImagePool = Pool<ImageTask, unknown>;

/** Runs tasks in the pool's threads. A task whose thread dies runs once more; a second death is a defect and is thrown. */
export function pooledTasks(pool: ImagePool): ImageTasks {
  const runIn = <N extends keyof ImageTasks>(name: N): ImageTasks[N] => {
    const run = async (...input: unknown[]): Promise<unknown> => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `ImageTasks[N]` checks the input
      const task = { name, input } as unknown as ImageTask;
      return await pool.run(task).catch((error: unknown) => {
        if (error instanceof WorkerDied) return pool.run(task);
        throw error;
      });
    };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the thread runs the task of this name
    return run as unknown as ImageTasks[N];
  };
  return {
    draw: runIn('draw'),
    isScannable: runIn('isScannable'),
    cleanLogo: runIn('cleanLogo'),
    drawBrandLogo: runIn('drawBrandLogo'),
  };
}

/** Everything but the pool: tests hand in `localTasks`. */
export function assembleImages(
  options: Omit<ImagesOptions, 'threads'>,
  tasks: ImageTasks,
): Pick<Images, 'service' | 'logos' | 'designs'> {
  const { store, clock, shortUrlBase } = options;
  const logos = new Logos({ store, clock, tasks });
  const service = new ImageService({ tasks, logoOf: (name) => logos.picture(name) });
  const designs = new ScannabilityCheck({ tasks, logos, shortUrlBase });
  return { service, logos, designs };
}

/** Read at each scrape. */
export function registerImageMetrics(
  metrics: Metrics,
  { images, imageCache }: { readonly images: Images; readonly imageCache: ImageCache },
): void {
  metrics.total(
    'quietzone_images_drawn_total',
    'Images drawn by the pool',
    [],
    () => images.service.drawn,
  );
  metrics.gauge(
    'quietzone_image_cache_bytes',
    'Drawn images in memory',
    [],
    () => imageCache.calculatedSize,
  );
  metrics.gauge(
    'quietzone_pool_waiting',
    'Tasks that wait for a pool thread',
    [],
    () => images.pool.stats().waiting,
  );
}
