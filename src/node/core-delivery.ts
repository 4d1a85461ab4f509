/**
 * Deliveries of a core: delivery.mdb follows a log of its own, DELIVERY, and is written by the webhooks of the core that
 * leads the cluster.
 *
 *   CORE leads here ──▶ claims DELIVERY, when its former leader is silent or has given it away ──▶ webhooks open
 *   another leads   ──▶ DELIVERY is given away, webhooks close; blocks that the leader has settled may expire here, too
 *
 * Blocks of scans are numbered by each core for itself (webhooks/outboxes/scan-numbering.ts): `core` names the numbers of
 * this machine's scans.mdb.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { storeIdOf } from '../cluster/scans/store-id.ts';
import { StoreReplication } from '../cluster/store-replication.ts';
import type { NodeIdentity } from '../cluster/nodes/node-file.ts';
import type { Base } from '../modules.ts';
import { openDeliveryTables } from '../store/delivery/open-delivery.ts';
import { scanNumberingTables } from '../store/delivery/scan-numbering.ts';
import type { ScanStore } from '../store/scans/scans.ts';
import { systemTimers } from '../system-clock.ts';
import { Ticker } from '../telemetry/ticker.ts';
import type { WebhookCluster } from '../webhooks/open-webhooks.ts';
import { ScanCursor } from '../webhooks/outboxes/scan-cursor.ts';
import type { Engine } from '../writers.ts';
import type { NodeContext } from './context.ts';

/** Between two looks whether the log of deliveries is led from here. */
const stepMs = 10;
/** Longer than a lease, and than brokers take to elect a leader. */
const leadMsMax = 20_000;
const followMs = 1_000;

export interface CoreDeliveryOptions {
  readonly context: NodeContext;
  readonly base: Base;
  readonly identity: NodeIdentity;
  /** This machine leads the cluster. */
  readonly mayLead: () => boolean;
}

export class CoreDelivery {
  readonly #options: CoreDeliveryOptions;
  readonly #tables: WebhookCluster['tables'];
  readonly #numbering: WebhookCluster['numbering'];
  readonly replication: StoreReplication;

  /** From here on delivery.mdb is written by way of the log alone. */
  constructor(options: CoreDeliveryOptions) {
    this.#options = options;
    const { context, base, mayLead } = options;
    this.#tables = openDeliveryTables(base.folder.deliveryFile);
    const { environment } = this.#tables;
    this.#numbering = scanNumberingTables(environment);
    const { replicas } = context.config.cluster;
    this.replication = new StoreReplication({
      ...context,
      environment,
      name: 'delivery',
      replicas,
      timers: systemTimers,
      random: base.random,
      mayLead,
      onChanged: () => undefined,
    });
  }

  /** What webhooks have of it while this machine leads. */
  webhooks(scans: ScanStore): WebhookCluster {
    const { node } = this.#options.identity;
    const core = `${node}.${storeId(scans, this.#options.base)}`;
    const isHeld = (): boolean => this.replication.isHeld;
    return { tables: this.#tables, numbering: this.#numbering, core, isHeld };
  }

  /** Resolves when this machine leads the log of deliveries. @throws Error when another one goes on leading it, or where it has stopped */
  async lead(): Promise<void> {
    for (let waitedMs = 0; waitedMs < leadMsMax; waitedMs += stepMs) {
      if (this.replication.isHeld) return;
      if (!this.#options.mayLead() || this.replication.status.stop !== undefined) break;
      await pause(stepMs);
    }
    throw new Error('the log of deliveries is not led from here');
  }

  /** The leader of the cluster may lead it at once. */
  release(): void {
    this.replication.release().catch(() => undefined);
  }

  /** While another machine leads: what it has settled need not be kept here. @returns ends it */
  followSettled({ scans, threads }: Engine): () => Promise<void> {
    const cursor = new ScanCursor(scans);
    const ticker = new Ticker({
      everyMs: followMs,
      log: this.#options.base.log,
      failed: 'following settled scans failed, retrying',
      resumed: 'following settled scans resumed',
      run: async () => {
        while (await cursor.follow(this.#tables, this.#numbering));
        threads.shards.releaseBlocks(cursor.blocks.delivered);
      },
    });
    ticker.start();
    return () => ticker.close();
  }

  async close(): Promise<void> {
    await this.replication.close();
    await this.#tables.environment.close();
  }
}

/** Made with a new scans.mdb: block numbers of two stores differ. */
export function storeId({ environment }: ScanStore, { ids }: Pick<Base, 'ids'>): string {
  return storeIdOf(environment, () => ids.newId('n'));
}
