/** The metrics of drawing, read at each scrape. */
import type { Metrics } from '../telemetry/metrics.ts';
import type { ImageCache } from './image-cache.ts';
import type { Images } from './image-service.ts';

export function registerImageMetrics(
  metrics: Metrics,
  { images, imageCache }: { readonly images: Images; readonly imageCache: ImageCache },
): void {
  metrics.total(
    'quietzone_images_drawn_total',
    'Images drawn by the pool',
    [],
    () => images.stats().drawn,
  );
  metrics.gauge(
    'quietzone_image_cache_bytes',
    'Drawn images in memory',
    [],
    () => imageCache.bytes,
  );
  metrics.gauge(
    'quietzone_pool_waiting',
    'Tasks that wait for a pool thread',
    [],
    () => images.stats().pool.waiting,
  );
}
