/** Takeovers in a row under load. Nothing is killed, so each scan that was answered is counted, and no other. */
import { pause } from '../support/process.ts';
import {
  type ServiceOptions,
  type ServiceResult,
  ServiceUnderLoad,
  type Takeover,
} from './service-under-load.ts';

export interface TakeoversOptions extends ServiceOptions {
  readonly takeovers: number;
  /** Between two takeovers, before the first and after the last. */
  readonly steadyMs: number;
  /** With `restart` each process ends before the next one starts, to compare. */
  readonly way: 'takeover' | 'restart';
  readonly onTakeover?: (number: number, takeover: Takeover) => void;
}

export interface TakeoversResult extends ServiceResult {
  readonly takeovers: readonly Takeover[];
}

export async function runTakeovers(options: TakeoversOptions): Promise<TakeoversResult> {
  const service = await ServiceUnderLoad.open(options);
  const takeovers: Takeover[] = [];
  try {
    for (let number = 1; number <= options.takeovers; number++) {
      await pause(options.steadyMs);
      if (options.way === 'restart') {
        await service.restart();
        continue;
      }
      const takeover = await service.takeOver();
      takeovers.push(takeover);
      options.onTakeover?.(number, takeover);
    }
    await pause(options.steadyMs);
    const result = await service.finish();
    return { ...result, notes: [...result.notes, ...service.complaints()], takeovers };
  } finally {
    await service.close();
  }
}
