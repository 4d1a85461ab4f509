/** Takeovers in a row under load. Nothing is killed, so each scan that was answered is counted, and no other. */
import { pause } from '../support/process.ts';
import { type ServiceOptions, type ServiceResult, ServiceUnderLoad } from './service-under-load.ts';

export interface TakeoversOptions extends ServiceOptions {
  readonly takeovers: number;
  /** Between two takeovers, before the first and after the last. */
  readonly steadyMs: number;
  readonly onTakeover?: (number: number, ms: number) => void;
}

export async function runTakeovers(options: TakeoversOptions): Promise<ServiceResult> {
  const service = await ServiceUnderLoad.open(options);
  try {
    for (let number = 1; number <= options.takeovers; number++) {
      await pause(options.steadyMs);
      options.onTakeover?.(number, await service.takeOver());
    }
    await pause(options.steadyMs);
    const result = await service.finish();
    return { ...result, notes: [...result.notes, ...service.complaints()] };
  } finally {
    await service.close();
  }
}
