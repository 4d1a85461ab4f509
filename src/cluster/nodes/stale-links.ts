/**
 * `cluster.staleLinks` of a node: with `refuse` it redirects while its contact to the leading core is fresh, and a core that
 * leads answers a change when no node redirects without it (link-contact.ts). A core answers nodes that
 * refuse whatever its own setting is, so that the setting can be changed node by node.
 */
import { LinkPermission } from '../../links/permission.ts';
import type { Timers } from '../../model/clock.ts';
import type { NodeRole } from '../../store/management/cluster.ts';
import type { Management } from '../../store/management/management.ts';
import type { HealthCheck } from '../../telemetry/health.ts';
import type { NatsConnection } from '../nats/nats-connection.ts';
import type { StoreReplication } from '../store-replication.ts';
import type { Beats } from './beats.ts';
import { Confirmations } from './confirmations.ts';
import { FirstLinks } from './first-links.ts';
import { LinkContact } from './link-contact.ts';

export interface StaleLinksOptions {
  readonly staleLinks: 'serve' | 'refuse';
  readonly role: NodeRole;
  readonly connection: Pick<NatsConnection, 'request' | 'answer'>;
  readonly timers: Timers;
  /** Of the machine's monotonic clock, alike in all threads. */
  readonly nanoseconds: () => bigint;
}

/** How far a link table is. */
interface TableState {
  readonly linkNumber: number;
  readonly pendingLinks: number;
}

export class StaleLinks {
  readonly #options: StaleLinksOptions;
  readonly refuses: boolean;
  /** Of its redirect threads; undefined where they need none. */
  readonly permission: LinkPermission | undefined;
  #beats: Beats | undefined;
  readonly #first: FirstLinks;
  #contact: LinkContact | undefined;
  #confirmations: Confirmations | undefined;

  constructor(options: StaleLinksOptions) {
    this.#options = options;
    const { staleLinks, role, nanoseconds } = options;
    this.refuses = staleLinks === 'refuse';
    this.#first = new FirstLinks(options.timers);
    const needsPermission = this.refuses && role !== 'core';
    this.permission = needsPermission ? new LinkPermission(nanoseconds) : undefined;
  }

  /** What beats say. Where a changed link does not fit into the table, its old target stands there. */
  numberOf({ linkNumber, pendingLinks }: TableState): number {
    return this.refuses && pendingLinks > 0 ? 0 : linkNumber;
  }

  /** Asks the leading core for permission from here on, where this node needs one. */
  beginContact(beats: Beats): void {
    this.#beats = beats;
    const { permission } = this;
    if (permission === undefined) return;
    this.#contact = new LinkContact({
      ...this.#options,
      beat: () => beats.own,
      permission,
    });
  }

  /** Of a core: answers beats, its own too, while it holds the lease. */
  beginConfirming(replication: StoreReplication, store: Management): void {
    this.#confirmations = new Confirmations({
      ...this.#options,
      refuses: this.refuses,
      epoch: () => (replication.isHeld ? replication.status.position.epoch : undefined),
      lastLink: () => {
        store.environment.refresh();
        return store.last('link');
      },
    });
  }

  /** The number of this node has moved. The permission learns it before the others do: it may be over. */
  linksMoved(beats: Beats): void {
    this.#contact?.moved();
    beats.moved();
  }

  /** Resolves when no node that refuses redirects without the changes up to `number`. */
  async followed(number: number): Promise<void> {
    await this.#confirmations?.followed(number);
  }

  /** A sentence for the operator, while nodes are not set up alike. */
  get mismatch(): string | undefined {
    if (this.#contact?.mismatch !== undefined || !this.refuses) return this.#contact?.mismatch;
    const connected = this.#beats?.connected() ?? [];
    const serving = connected.filter(({ redirects, refuses }) => redirects && refuses !== true);
    if (serving.length === 0) return undefined;
    const names = serving.map(({ name }) => name).join(', ');
    return `cluster.staleLinks is refuse here and serve on ${names}: cut off, they redirect to old targets`;
  }

  get checks(): HealthCheck[] {
    const first = (): string | undefined => this.#first.problem(this.#beats);
    if (!this.refuses) return [{ name: 'links since the last start', problem: first }];
    const joining = 'scans are answered with 503: this node has not joined its cluster yet';
    const problem = (): string | undefined => {
      if (this.permission === undefined) return undefined;
      return this.#contact === undefined ? joining : this.#contact.problem;
    };
    return [
      { name: 'contact', problem },
      { name: 'stale links', isWarning: true, problem: () => this.mismatch },
    ];
  }

  close(): void {
    this.#contact?.close();
    this.#confirmations?.close();
  }
}
