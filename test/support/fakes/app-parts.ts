/** What a test's application has in place of an engine's parts, and its stores, made once for all tests of a worker. */
import { createHash, getRandomValues } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { ImageDrawing } from '../../../src/api/services.ts';
import type { Counting } from '../../../src/product/campaigns/campaign-scheduler.ts';
import type { DataFolder } from '../../../src/app/folder/data-folder.ts';
import type { AttemptSettings, AttemptTask } from '../../../src/model/webhook.ts';
import { openDeliveryTables } from '../../../src/store/delivery/delivery.ts';
import { openManagement } from '../../../src/store/management/management.ts';
import {
  type AttemptSender,
  type OnResult,
  PoolSender,
} from '../../../src/webhooks/attempt/attempt-sender.ts';
import { makeSigningKeys } from '../../../src/product/workspaces/signing-keys.ts';

/** Every scan is counted at once. */
export const counted: Counting = { mark: () => ({ isPast: () => true }) };

/** Images that say what was asked for. */
export const fakeImages: ImageDrawing = {
  render: async (request) => {
    const bytes = Buffer.from(JSON.stringify(request));
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    const contentType = request.format === 'svg' ? 'image/svg+xml' : `image/${request.format}`;
    return { bytes, etag, contentType };
  },
};

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

/** Of a data folder in which nothing was done yet. */
let emptyStores: readonly [management: Uint8Array, delivery: Uint8Array] | undefined;

/**
 * What a first start makes of the parts that these tests open. Each new table is a commit that waits for the disk, some
 * fifty of them: only the first of a worker makes them, the others begin with its files.
 */
export async function makeStores(folder: DataFolder): Promise<void> {
  const { path, managementFile, deliveryFile } = folder;
  if (existsSync(managementFile)) return;
  makeSigningKeys(path, (bytes) => getRandomValues(bytes));
  if (emptyStores !== undefined) {
    writeFileSync(managementFile, emptyStores[0]);
    writeFileSync(deliveryFile, emptyStores[1]);
    return;
  }
  await openManagement(managementFile, 'create').close();
  await openDeliveryTables(deliveryFile, 'create').environment.close();
  emptyStores = [readFileSync(managementFile), readFileSync(deliveryFile)];
}
