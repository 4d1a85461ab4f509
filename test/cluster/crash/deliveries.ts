/**
 * A receiver of webhooks outside the cluster, subscribed to every event. Whichever core leads, each stored event must
 * arrive, with the same bytes each time; it may arrive again.
 */
import type { Random } from '../../crash/random.ts';
import { Receipts } from '../../crash/receipts.ts';
import { Client } from '../../support/client.ts';
import type { ServiceNode } from './node.ts';

export class Deliveries {
  readonly receipts: Receipts;
  readonly #bodies = new Map<string, string>();
  /** Each `webhook-id` that came with two bodies: a receiver that drops by id would lose one. */
  readonly doubleIds = new Set<string>();

  constructor(random: Random) {
    this.receipts = new Receipts(random, ({ headers, body }) => {
      const id = String(headers['webhook-id']);
      if ((this.#bodies.get(id) ?? body) !== body) this.doubleIds.add(id);
      this.#bodies.set(id, body);
    });
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
}

/** Events and blocks of scans without deliveries, and deliveries that wait. */
function waitingIn(metrics: string): number {
  const figures = [
    ...metrics.matchAll(/^quietzone_webhook_outbox_lag\{.*\} (\d+)/gm),
    ...metrics.matchAll(/^quietzone_webhook_deliveries\{.*"pending".*\} (\d+)/gm),
  ];
  // No core leads.
  if (figures.length < 3) return 1;
  return figures.reduce((sum, [, figure]) => sum + Number(figure), 0);
}
