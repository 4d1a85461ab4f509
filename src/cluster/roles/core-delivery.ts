/**
 * Deliveries of a core: delivery.mdb follows its own log, DELIVERY, and is written by the webhooks of the core that
 * leads the cluster.
 *
 *   CORE leads here ──▶ claims DELIVERY, when its former leader is silent or has given it away ──▶ webhooks open
 *   another leads   ──▶ DELIVERY is given away, webhooks close; blocks that the leader has settled may expire here, too
 *
 * Each core numbers blocks of scans for itself: marks convert the leader's numbers in delivery.mdb to those of this core
 * (store/scans/block-marks.ts).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { StoreReplication } from '../log/store-replication.ts';
import { Failure } from '../../model/failure.ts';
import type { Base } from '../../app/modules.ts';
import { openDeliveryTables } from '../../store/delivery/delivery.ts';
import { systemTimers } from '../../platform/system-clock.ts';
import type { Logger } from '../../platform/log.ts';
import { Ticker } from '../../platform/ticker.ts';
import type { WebhookCluster } from '../../webhooks/open-webhooks.ts';
import { settledByLeader } from '../../webhooks/feeds/scan-takeover.ts';
import type { Engine } from '../../app/open-engine.ts';
import type { NodeContext } from './context.ts';

/** Between two checks of who leads the log of deliveries. */
const stepMs = 10;
/** Longer than a lease, and than brokers take to elect a leader. */
const leadMsMax = 20_000;
const followMs = 1_000;

export class CoreDelivery {
  readonly #mayLead: () => boolean;
  readonly #log: Logger;
  readonly tables: WebhookCluster['tables'];
  readonly replication: StoreReplication;

  /** From here on delivery.mdb is written through the log alone. @param mayLead this machine leads the cluster */
  constructor(context: NodeContext, { folder, log, random }: Base, mayLead: () => boolean) {
    this.#mayLead = mayLead;
    this.#log = log;
    this.tables = openDeliveryTables(folder.deliveryFile);
    this.replication = new StoreReplication({
      ...context,
      environment: this.tables.environment,
      name: 'delivery',
      replicas: context.config.cluster.replicas,
      timers: systemTimers,
      random,
      mayLead,
      onChanged: () => undefined,
    });
  }

  /** For the webhooks of a leader. */
  webhooks(store: string): WebhookCluster {
    return { tables: this.tables, store, isHeld: () => this.replication.isHeld };
  }

  /** Resolves when this machine leads the log of deliveries. @throws Failure not_active if another one keeps leading it, or if it has stopped */
  async lead(): Promise<void> {
    for (let waitedMs = 0; waitedMs < leadMsMax; waitedMs += stepMs) {
      if (this.replication.isHeld) return;
      if (!this.#mayLead() || this.replication.status.stop !== undefined) break;
      await pause(stepMs);
    }
    const why = this.replication.problem ?? 'another core leads it';
    throw new Failure('not_active', `Cannot lead the log of deliveries: ${why}`);
  }

  /** Another core may lead it at once. */
  release(): void {
    this.replication.release().catch(() => undefined);
  }

  /** While another machine leads: releases the blocks that it has settled. @returns ends it */
  followSettled({ threads, scans }: Engine): () => Promise<void> {
    const ticker = new Ticker({
      everyMs: followMs,
      log: this.#log,
      failed: 'following settled scans failed, retrying',
      resumed: 'following settled scans resumed',
      run: async () => {
        const settled = settledByLeader(this.tables, scans);
        if (settled !== undefined) threads.shards.releaseBlocks(settled);
      },
    });
    ticker.start();
    return () => ticker.close();
  }

  async close(): Promise<void> {
    this.replication.close();
    await this.tables.environment.close();
  }
}
