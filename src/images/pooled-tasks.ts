/**
 * The tasks of images in the pool's threads. Tasks can be repeated, so when a thread dies its task runs once
 * more; a second death is a defect and is thrown.
 */
import { WorkerDied, type Pool } from '../workers/pool.ts';
import type { ImageTask, ImageTaskResult, ImageTasks } from './tasks.ts';

export type ImagePool = Pool<ImageTask, ImageTaskResult>;

export function pooledTasks(pool: ImagePool): ImageTasks {
  const run = async (task: ImageTask): Promise<ImageTaskResult> =>
    await pool.run(task).catch((error: unknown) => {
      if (error instanceof WorkerDied) return pool.run(task);
      throw error;
    });
  return {
    draw: async (request) => {
      const result = await run({ kind: 'draw', request });
      if (result.kind === 'draw') return result.bytes;
      throw unexpected(result);
    },
    isScannable: async (request) => {
      const result = await run({ kind: 'scan', request });
      if (result.kind === 'scan') return result.isScannable;
      throw unexpected(result);
    },
    cleanLogo: async (bytes, mediaType) => {
      const result = await run({ kind: 'clean', bytes, mediaType });
      if (result.kind === 'clean') return result.logo;
      throw unexpected(result);
    },
    drawBrandLogo: async (bytes, mediaType) => {
      const result = await run({ kind: 'brand', bytes, mediaType });
      if (result.kind === 'brand') return result.bytes;
      throw unexpected(result);
    },
  };
}

function unexpected({ kind }: ImageTaskResult): Error {
  return new Error(`Cannot use a result of "${kind}": expected that of the task`);
}
