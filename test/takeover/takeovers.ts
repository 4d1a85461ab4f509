/** Takeovers in a row under load, and then the comparison: nothing is killed, so answered and counted are the same. */
import { pause, type Ports } from '../support/process.ts';
import type { LoadSetting } from './load.ts';
import { Stage, type StageResult, type Takeover } from './stage.ts';

export interface TakeoversOptions {
  readonly dataDir: string;
  readonly ports: Ports;
  readonly takeovers: number;
  readonly perSecond: number;
  readonly codes: number;
  readonly seed: number;
  /** Connections that are kept. */
  readonly kept?: LoadSetting['kept'];
  /** Between two takeovers, and before the first. */
  readonly steadyMs: number;
  /** `restart` is what a takeover is compared with. */
  readonly way: 'takeover' | 'restart';
  readonly onTakeover?: (number: number, takeover: Takeover | undefined) => void;
}

export interface TakeoversResult extends StageResult {
  readonly takeovers: readonly Takeover[];
}

export async function runTakeovers(options: TakeoversOptions): Promise<TakeoversResult> {
  const stage = await Stage.open(options);
  const takeovers: Takeover[] = [];
  try {
    for (let number = 1; number <= options.takeovers; number++) {
      await pause(options.steadyMs);
      let takeover: Takeover | undefined;
      if (options.way === 'restart') await stage.restart();
      else takeovers.push((takeover = await stage.takeOver()));
      options.onTakeover?.(number, takeover);
    }
    await pause(options.steadyMs);
    const result = await stage.finish();
    return { ...result, notes: [...result.notes, ...stage.complaints()], takeovers };
  } finally {
    await stage.close();
  }
}
