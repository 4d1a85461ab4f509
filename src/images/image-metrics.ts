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
    'Drawn images kept, in memory and on the disk',
    ['where'],
    () => [
      { labels: { where: 'memory' }, value: imageCache.bytes },
      { labels: { where: 'disk' }, value: images.stats().disk.bytes },
    ],
  );
  metrics.total(
    'quietzone_image_disk_faults_total',
    'Files of the image cache that were damaged, or could not be read or written',
    [],
    () => images.stats().disk.faults,
  );
  metrics.gauge(
    'quietzone_pool_waiting',
    'Tasks that wait for a pool thread',
    [],
    () => images.stats().pool.waiting,
  );
}
