/**
 * The CPU-heavy tasks of images: drawing, reading back, cleaning logos. `localTasks` runs them in this
 * thread; `pooledTasks` (image-service.ts) in the pool's threads.
 */
import { draw, type DrawRequest } from './draw/drawing.ts';
import type { LogoMediaType } from './formats.ts';
import { cleanLogo, drawBrandLogo } from './logo/logo.ts';
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

type TaskName = keyof ImageTasks;
export type ImageTask = {
  [N in TaskName]: { readonly name: N; readonly input: Parameters<ImageTasks[N]> };
}[TaskName];

/** In this thread. */
export async function runTask({ name, input }: ImageTask): Promise<unknown> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the input is that of the name
  const run = localTasks[name] as (...parts: typeof input) => Promise<unknown>;
  return await run(...input);
}
