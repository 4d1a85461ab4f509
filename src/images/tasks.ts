/**
 * The CPU-heavy tasks of images: drawing, reading back, cleaning logos. `localTasks` runs them in this
 * thread; `pooledTasks` (pooled-tasks.ts) in the pool's threads.
 */
import { draw, type DrawRequest } from './draw/drawing.ts';
import type { LogoMediaType } from './formats.ts';
import { drawBrandLogo } from './logo/brand-logo.ts';
import { cleanLogo } from './logo/logo.ts';
import type { LogoImage } from './draw/picture.ts';
import { isScannable, type ScanRequest } from './design/scannable.ts';

export interface ImageTasks {
  /** @throws Failure validation_failed (content or size), overloaded */
  draw(request: DrawRequest): Promise<Uint8Array>;
  /** Whether an independent decoder reads it. @throws Failure validation_failed, overloaded */
  isScannable(request: ScanRequest): Promise<boolean>;
  /** @throws Failure validation_failed (what is wrong with the file), overloaded */
  cleanLogo(bytes: Uint8Array, mediaType: LogoMediaType): Promise<LogoImage>;
  /** As pages carry it, WebP. @throws Failure as `cleanLogo` does */
  drawBrandLogo(bytes: Uint8Array, mediaType: LogoMediaType): Promise<Uint8Array>;
}

export const localTasks: ImageTasks = { draw, isScannable, cleanLogo, drawBrandLogo };

export type ImageTask =
  | { readonly kind: 'draw'; readonly request: DrawRequest }
  | { readonly kind: 'scan'; readonly request: ScanRequest }
  | {
      readonly kind: 'clean' | 'brand';
      readonly bytes: Uint8Array;
      readonly mediaType: LogoMediaType;
    };

export type ImageTaskResult =
  | { readonly kind: 'draw' | 'brand'; readonly bytes: Uint8Array }
  | { readonly kind: 'scan'; readonly isScannable: boolean }
  | { readonly kind: 'clean'; readonly logo: LogoImage };

/** In this thread. */
export async function runTask(task: ImageTask): Promise<ImageTaskResult> {
  switch (task.kind) {
    case 'draw':
      return { kind: 'draw', bytes: await draw(task.request) };
    case 'scan':
      return { kind: 'scan', isScannable: await isScannable(task.request) };
    case 'brand':
      return { kind: 'brand', bytes: await drawBrandLogo(task.bytes, task.mediaType) };
    default:
      return { kind: 'clean', logo: await cleanLogo(task.bytes, task.mediaType) };
  }
}
