/** CampaignServices with the clock that ends them, and the sweep that takes deleted codes out of everything. */
import { CampaignScheduler } from '../campaigns/campaign-scheduler.ts';
import { type CampaignServices, openCampaigns } from '../campaigns/open-campaigns.ts';
import type { Codes } from '../codes/codes.ts';
import { CodeRetention } from '../codes/code-retention.ts';
import type { Clock } from '../model/clock.ts';
import type { IdSource } from '../model/ids.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { ScanReport } from '../scans/report/report.ts';
import { RetentionSweep } from '../scans/retention.ts';
import type { Management } from '../store/management/management.ts';
import type { Logger } from '../telemetry/log.ts';
import type { EngineThreads } from '../engine/threads.ts';

export interface CampaignRoomsOptions {
  readonly management: Management;
  readonly outbox: Outbox;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly codes: Codes;
  readonly report: ScanReport;
  readonly threads: EngineThreads;
  readonly log: Logger;
}

export interface CampaignRooms {
  readonly campaigns: CampaignServices;
  /** Every 30 s: what is over and was not seen by the way. */
  sweep(): Promise<unknown>;
  /** Before the threads end and the environments are closed. */
  close(): Promise<void>;
}

/** The shards are running: what fell due while the service was down is begun at once. */
export function openCampaignRooms(options: CampaignRoomsOptions): CampaignRooms {
  const { management, clock, codes, threads, log } = options;
  const campaigns = openCampaigns({ ...options, store: management });
  const counting = threads.counting();
  const ends = new CampaignScheduler({ book: campaigns.book, counting, clock, log });
  const retention = new RetentionSweep({
    codes: new CodeRetention(management, codes.memberships, clock),
    purge: (orders) => threads.purge(orders),
    log,
  });
  threads.onPurged = (codeNos) => retention.purged(codeNos);
  ends.start();
  retention.tick();
  return {
    campaigns,
    sweep: async () => {
      retention.tick();
      await campaigns.conversions.sweep();
    },
    close: async () => {
      await ends.close();
      await retention.close();
    },
  };
}
