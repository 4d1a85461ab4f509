/** A service whose endpoints are at its own receiver, and a bare loop of POSTs to the same. */
import { setTimeout as wait } from 'node:timers/promises';
import type { EventKind } from '../../../src/model/event.ts';
import type { Arena, Service, ServiceSetting } from '../arena.ts';
import { BarePost, Receiver } from '../peers.ts';
import { apiListens, callApi, makeKeys, openEventFeed } from './events.ts';

/** One endpoint each; none is caused by a redirect. */
export const fedKinds: readonly EventKind[] = [
  'qr.created',
  'qr.updated',
  'qr.deleted',
  'campaign.created',
];
export const hotCodes = 10;
export const coldCodes = 1_000;
const pollMs = 20;
const idleMsMax = 20_000;

export interface Stage {
  readonly service: Service;
  readonly receiver: Receiver;
  readonly bare: BarePost;
  /** Of an owner. */
  readonly key: string;
  /** Makes an endpoint for a further kind. */
  listen(kind: EventKind): Promise<void>;
  /** Puts events into the outbox, in one transaction. @returns the bytes of a body */
  feed(count: number): Promise<number>;
  close(): Promise<void>;
}

/** A stage whose endpoints get the events that are fed, and no scan. */
export function openEventStage(arena: Arena, setting?: Partial<ServiceSetting>): Promise<Stage> {
  return openStage(arena, fedKinds, setting);
}

/** A stage with an endpoint for scans. */
export function openScanStage(arena: Arena, setting?: Partial<ServiceSetting>): Promise<Stage> {
  return openStage(arena, ['qr.scanned'], setting);
}

/** @param listens the kinds that have an endpoint, one each */
async function openStage(
  arena: Arena,
  listens: readonly EventKind[],
  setting: Partial<ServiceSetting> = {},
): Promise<Stage> {
  const receiver = await Receiver.open();
  const bare = await BarePost.open();
  const environment = { QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8', ...setting.environment };
  const service = await arena.service({ codes: hotCodes + coldCodes, ...setting, environment });
  await apiListens(service);
  const [key = ''] = await makeKeys(service, 1);
  const listen = async (kind: EventKind): Promise<void> => {
    const body = { url: `http://127.0.0.1:${receiver.port}/${kind}`, events: [kind] };
    await callApi(service, key, { method: 'POST', path: '/webhooks', body });
  };
  for (const kind of listens) await listen(kind);
  const events = await openEventFeed(service);
  return {
    service,
    receiver,
    bare,
    key,
    listen,
    feed: (count) => events.feed(fedKinds, count),
    async close() {
      await events.close();
      await Promise.all([receiver.stop(), bare.stop()]);
    },
  };
}

/** Everything received until there are `count`. @throws Error when they do not arrive, more do, or one twice */
export async function receive(
  receiver: Receiver,
  count: number,
): Promise<{ firstMs: number; lastMs: number }> {
  let requests = 0;
  let firstMs = 0;
  let quietMs = 0;
  for (;;) {
    const part = await receiver.take();
    if (part.repeated > 0) throw new Error(`${part.repeated} deliveries came twice`);
    if (requests === 0 && part.requests > 0) firstMs = part.firstMs;
    requests += part.requests;
    if (requests > count) throw new Error(`${requests} deliveries came, expected ${count}`);
    if (requests === count) return { firstMs, lastMs: part.lastMs };
    quietMs = part.requests === 0 ? quietMs + pollMs : 0;
    if (quietMs > idleMsMax) throw new Error(`${requests} deliveries came, expected ${count}`);
    await wait(pollMs);
  }
}
