import type { AttemptSettings, AttemptTask } from '../../../src/model/webhook.ts';
import {
  type AttemptSender,
  type OnResult,
  PoolSender,
} from '../../../src/webhooks/attempt/attempt-sender.ts';

/** The pool with one thread, which is started by the first attempt: most tests send none. */
export class LazySender implements AttemptSender {
  readonly #channel: string;
  readonly #settings: AttemptSettings;
  #pool: PoolSender | undefined;

  /** @param channel tells this pool's results from others' in the process */
  constructor(channel: string, settings: AttemptSettings) {
    this.#channel = channel;
    this.#settings = settings;
  }

  send(tasks: readonly AttemptTask[], onResult: OnResult): void {
    this.#pool ??= new PoolSender({
      threads: 1,
      widthMax: 16,
      channel: this.#channel,
      settings: this.#settings,
      onDeath: () => undefined,
    });
    this.#pool.send(tasks, onResult);
  }

  async close(): Promise<void> {
    await this.#pool?.close();
  }
}
