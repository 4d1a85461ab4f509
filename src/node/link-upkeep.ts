/** The work of every node on its link table between changes. On a core that leads, the services also free memory. */
import type { LinkWriter } from '../links/writer.ts';
import type { Logger } from '../telemetry/log.ts';
import { Ticker } from '../telemetry/ticker.ts';

/** How often the limits of codes are compared with the scans that all nodes counted. */
const limitsMs = 500;
/** How often link memory is freed, and links that did not fit are tried again. */
const freeMs = 30_000;

export interface UpkeptLinks {
  closeLimits(): Promise<void>;
  publishPending(): void;
}

export interface LinkUpkeep {
  /** Compares limits now. */
  closeLimits(): void;
  close(): Promise<void>;
}

export function startLinkUpkeep(
  writer: Pick<LinkWriter, 'free'>,
  links: UpkeptLinks,
  log: Logger,
): LinkUpkeep {
  const limits = new Ticker({
    everyMs: limitsMs,
    log,
    failed: 'comparing limits of codes failed, retrying',
    resumed: 'comparing limits of codes resumed',
    run: () => links.closeLimits(),
  });
  const freeing = new Ticker({
    everyMs: freeMs,
    log,
    failed: 'freeing link memory failed, retrying',
    resumed: 'freeing link memory resumed',
    run: () => {
      writer.free();
      links.publishPending();
    },
  });
  limits.start();
  freeing.start();
  return {
    closeLimits: () => void limits.runNow(),
    close: async () => {
      await limits.close();
      await freeing.close();
    },
  };
}
