/**
 * Webhooks as the running service has them: on the stores and threads of the engine, with the machine's
 * clocks and the settings of the configuration.
 */
import { randomFillSync, randomInt } from 'node:crypto';
import type { Codes } from '../codes/codes.ts';
import { type Config, threadCounts } from '../config.ts';
import type { IdSource } from '../model/ids.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { Management } from '../store/management/management.ts';
import type { ScanStore } from '../store/scans/scans.ts';
import { systemClock, systemSteadyClock } from '../system-clock.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { openWebhooks, type Webhooks } from '../webhooks/open-webhooks.ts';
import type { WorkspaceServices } from '../workspaces/services.ts';
import type { EngineThreads } from '../engine/threads.ts';

const uint32Count = 2 ** 32;

export interface WebhookRoomOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly deliveryFile: string;
  readonly management: Management;
  readonly outbox: Outbox;
  readonly ids: IdSource;
  readonly services: WorkspaceServices;
  readonly scans: ScanStore;
  readonly codes: Codes;
  readonly threads: EngineThreads;
}

/** Opens the room and starts it: from here on events are followed and sent. */
export function startWebhooks(options: WebhookRoomOptions): Webhooks {
  const { config, log, metrics, deliveryFile, management, outbox, ids, services } = options;
  const { scans, codes, threads } = options;
  const { attemptTimeoutMs, ...settings } = config.webhooks;
  const webhooks = openWebhooks({
    file: deliveryFile,
    management,
    outbox,
    scanned: {
      store: scans,
      codeIdOf: (codeNo) => codes.findByNo(codeNo)?.id,
      committed: threads.shards.committed,
      onDelivered: (block) => threads.shards.releaseBlocks(block),
    },
    ids,
    clock: systemClock,
    steady: systemSteadyClock,
    randomBytes: (bytes) => randomFillSync(bytes),
    random: () => randomInt(uint32Count) / uint32Count,
    cipher: services.cipher,
    settings: {
      ...settings,
      threads: threadCounts(config).webhooks,
      timeoutMs: attemptTimeoutMs,
      docsUrl: `${config.api.publicUrl}/docs/webhooks`,
    },
    log,
    metrics,
  });
  webhooks.start();
  return webhooks;
}
