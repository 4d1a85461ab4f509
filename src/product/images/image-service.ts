/**
 * Images on demand: requests for the same image share one drawing by the pool, which is bounded (503 when it is full).
 * An image depends on its request alone: a re-targeted code keeps its image, and another design is another request.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../model/clock.ts';
import { escapeHtml } from '../../model/text.ts';
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

const systemFile = '/etc/fonts/fonts.conf';
const fontFolders = ['/usr/share/fonts', '/usr/local/share/fonts'];

/**
 * Keeps the plain lines that picture libraries print on standard error out of the log, which is JSON.
 *
 * fontconfig complains where no configuration is installed (slim containers) or no cache can be written (a
 * hardened systemd unit): it gets a file of ours, which includes the system's where there is one, and a cache in
 * the data folder. libvips prints no warnings; sharp hands them to the program. The libraries read
 * these variables when they load, in the pool's threads, so they are set before those start.
 *
 * Writes fontconfig's settings to `cache/` of the data folder.
 * @param inherited the file that FONTCONFIG_FILE named when the process began
 * @returns variables to set; undefined = to remove
 */
export function libraryVariables(
  dataDir: string,
  inherited = systemFile,
): Record<string, string | undefined> {
  const quiet = {
    // The number that raster.ts sets: libvips complains of another number at its start.
    VIPS_CONCURRENCY: '1',
    VIPS_WARNING: '0',
    // GLib complains of a longer side; ours is bounded by logo.ts.
    VIPS_MAX_COORD: '2147483647',
    VIPS_INFO: undefined,
    G_MESSAGES_DEBUG: undefined,
  };
  const folder = join(dataDir, 'cache');
  const file = join(folder, 'fonts.conf');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(file, fontSettings(join(folder, 'fonts'), inherited));
  } catch {
    // A full disk: pictures are drawn all the same.
    return quiet;
  }
  return { ...quiet, FONTCONFIG_FILE: file };
}

function fontSettings(cache: string, included: string): string {
  const folders = fontFolders.map((path) => `<dir>${path}</dir>`).join('');
  return (
    '<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">\n' +
    `<fontconfig><cachedir>${escapeHtml(cache)}</cachedir>${folders}` +
    `<include ignore_missing="yes">${escapeHtml(included)}</include></fontconfig>\n`
  );
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
    'Tasks waiting for a pool thread',
    [],
    () => images.pool.stats().waiting,
  );
}
