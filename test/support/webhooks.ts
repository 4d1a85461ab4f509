/**
 * The webhooks module for the API in this process, real except that the thread that signs and sends is started by
 * the first attempt, because most tests send none.
 */
import { join } from 'node:path';
import type { Config } from '../../src/config.ts';
import type { AttemptTask } from '../../src/model/webhook.ts';
import { systemSteadyClock } from '../../src/system-clock.ts';
import {
  type OnResult,
  type AttemptSender,
  PoolSender,
} from '../../src/webhooks/attempt/attempt-sender.ts';
import {
  openWebhooks,
  type Webhooks,
  type WebhooksOptions,
} from '../../src/webhooks/open-webhooks.ts';

class LazySender implements AttemptSender {
  readonly #open: () => PoolSender;
  #pool: PoolSender | undefined;

  constructor(open: () => PoolSender) {
    this.#open = open;
  }

  send(tasks: readonly AttemptTask[], onResult: OnResult): void {
    this.#pool ??= this.#open();
    this.#pool.send(tasks, onResult);
  }

  async close(): Promise<void> {
    await this.#pool?.close();
  }
}

type Given = Pick<
  WebhooksOptions,
  'management' | 'outbox' | 'ids' | 'clock' | 'randomBytes' | 'cipher' | 'log' | 'metrics'
>;

/** Consumes and sends when this returns. */
export function startWebhooks(dataDir: string, config: Config, given: Given): Webhooks {
  const { attemptTimeoutMs, allowNetworks, inFlightMax } = config.webhooks;
  const docsUrl = `${config.api.publicUrl}/docs/webhooks`;
  const attempt = { timeoutMs: attemptTimeoutMs, allowNetworks, docsUrl };
  const channel = given.ids.newId('dlv');
  const webhooks = openWebhooks({
    ...given,
    file: join(dataDir, 'delivery.mdb'),
    steady: systemSteadyClock,
    random: () => 0,
    settings: { ...config.webhooks, ...attempt, threads: 1 },
    sender: new LazySender(
      () =>
        new PoolSender({
          threads: 1,
          inFlightMax,
          channel,
          settings: attempt,
          onDeath: () => undefined,
        }),
    ),
  });
  webhooks.start();
  return webhooks;
}
