/**
 * A receiver of webhooks outside of the cluster, subscribed to every event: whichever core leads, each event that the
 * stores have must come to it, with the same bytes each time. One that comes again was sent by a core whose result
 * nobody knows any more.
 */
import type { Random } from '../../crash/random.ts';
import { Receipts } from '../../crash/receipts.ts';
import { Client } from '../../support/client.ts';
import type { ServiceNode } from './node.ts';
import { RepeatWatch } from './repeats.ts';

/** While no core leads. */
const unknownWaiting = 1;

export class Deliveries {
  readonly receipts: Receipts;
  readonly repeats: RepeatWatch;

  constructor(random: Random, nodes: readonly ServiceNode[]) {
    this.repeats = new RepeatWatch(nodes);
    this.receipts = new Receipts(random, (taken) => this.repeats.note(taken));
  }

  /** @param apiUrl of any node */
  async open(apiUrl: string, apiKey: string): Promise<void> {
    const client = new Client(apiUrl, apiKey);
    const body = { url: await this.receipts.open(), events: ['*'] };
    const { status, text } = await client.call('POST', '/v1/webhooks', { body });
    await client.close();
    if (status !== 201) throw new Error(`Cannot subscribe the receiver: ${status} ${text}`);
  }

  /** Resolves when nothing is left to deliver, or nothing comes any more. */
  async settle(nodes: readonly ServiceNode[]): Promise<void> {
    await this.receipts.settle(async () => {
      const leader = nodes.find(({ isActive }) => isActive);
      return waitingIn((await leader?.metrics()) ?? '');
    });
  }

  async close(): Promise<void> {
    await this.receipts.close();
  }
}

/** Events and blocks of scans without deliveries, and deliveries that wait. */
function waitingIn(metrics: string): number {
  const figures = [
    ...metrics.matchAll(/^quietzone_webhook_outbox_lag\{.*\} (\d+)/gm),
    ...metrics.matchAll(/^quietzone_webhook_deliveries\{.*"pending".*\} (\d+)/gm),
  ];
  if (figures.length < 3) return unknownWaiting;
  return figures.reduce((sum, [, figure]) => sum + Number(figure), 0);
}
