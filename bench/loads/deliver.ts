/**
 * Webhooks: the cost of a delivery against a bare loop of POSTs, the time from a redirect to its receiver, and the
 * slow-down of redirects while deliveries never pause. The real service, a receiver in a process of its own, loopback.
 *
 * For the cost this process writes the events to the outbox, so that creating them is not measured: the service
 * reads events of other processes once a second, and does the rest itself: read the event, create the delivery,
 * commit, sign, send, commit the result. One endpoint for each of four kinds, 16 at once: 64 connections,
 * as the bare loop has.
 */
import { randomFillSync } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { openAdministration } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import type { EventKind } from '../../src/model/event.ts';
import { createIdSource } from '../../src/model/ids.ts';
import { Outbox } from '../../src/outbox/outbox.ts';
import { openDataFolder } from '../../src/engine/data-folder.ts';
import { openManagement } from '../../src/store/management/management.ts';
import { systemClock } from '../../src/system-clock.ts';
import { quantile } from '../report.ts';
import type { Arena, Service, ServiceSetting } from './arena.ts';
import { spentSince, threadNanoseconds } from './cpu.ts';
import { pace } from './pacer.ts';
import { BarePost, Receiver } from './peers.ts';
import { createRequests } from './requests.ts';
import { pathsOf } from './seed.ts';

const kinds: readonly EventKind[] = ['qr.created', 'qr.updated', 'qr.deleted', 'campaign.created'];
const perEndpoint = 16;
const eventsPerTransaction = 1_000;
/** Until results are committed and LMDB's own threads have ended. */
const settleMs = 500;
const pollMs = 20;
const idleMsMax = 20_000;
/** Deliveries queued while redirects are measured: more than can be sent meanwhile. */
const backlogPerSecond = 12_000;
const connections = 64;
const hotCodes = 10;
const coldCodes = 1_000;
/** Of ten scans nine are of the ten busy codes: lists; the tenth is of one among a thousand: alone. */
const hotRepeats = 900;

/** A service whose endpoints are at `receiver`. */
export interface Stage {
  readonly service: Service;
  readonly receiver: Receiver;
  readonly bare: BarePost;
  /** Of an owner. */
  readonly key: string;
  /** Makes an endpoint for a further kind. */
  listen(kind: EventKind): Promise<void>;
  /** Puts events into the outbox. @returns the bytes of a body */
  feed(count: number): Promise<number>;
  close(): Promise<void>;
}

/** A stage whose endpoints get the events of this process, and no scan. */
export function openEventStage(arena: Arena): Promise<Stage> {
  return openStage(arena, kinds);
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
  const key = await makeKey(service.dataDir);
  const listen = (kind: EventKind) => makeEndpoint(service, key, receiver.port, kind);
  for (const kind of listens) await listen(kind);
  const store = openManagement(openDataFolder(service.dataDir).managementFile);
  const ids = createIdSource(systemClock, (bytes) => randomFillSync(bytes));
  const outbox = new Outbox(store, ids, systemClock);
  const one = (at: number): number => {
    const data = {
      qrId: ids.newId('qr'),
      scannedAt: new Date(systemClock.now()).toISOString(),
      country: 'DE',
      city: 'Berlin',
      device: 'mobile',
      os: 'iOS',
      referer: null,
    };
    return outbox.append(kinds[at % kinds.length]!, 1, data, systemClock.now()).body.length;
  };
  return {
    service,
    receiver,
    bare,
    key,
    listen,
    async feed(count) {
      let bytes = 0;
      for (let from = 0; from < count; from += eventsPerTransaction) {
        bytes = await store.environment.transaction(() => {
          let last = 0;
          const to = Math.min(count, from + eventsPerTransaction);
          for (let at = from; at < to; at++) last = one(at);
          return last;
        });
      }
      return bytes;
    },
    async close() {
      await store.close();
      await Promise.all([receiver.stop(), bare.stop()]);
    },
  };
}

async function makeKey(dataDir: string): Promise<string> {
  const administration = openAdministration(loadConfig(undefined, { QZ_DATA_DIR: dataDir }));
  const { keys, users } = administration.services;
  const owner = users.firstOwner(1);
  if (owner === undefined) throw new Error('Cannot measure: the workspace has no owner');
  const key = { workspaceNo: 1, userId: owner.id, name: 'Bench', role: 'owner' } as const;
  const { token } = await keys.create(key);
  await administration.close();
  return token;
}

/** The API listens a moment after the redirects do. */
async function makeEndpoint(
  { apiPort }: Service,
  key: string,
  port: number,
  kind: EventKind,
): Promise<void> {
  const init = {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: `http://127.0.0.1:${port}/${kind}`, events: [kind] }),
  };
  for (let waitedMs = 0; waitedMs < idleMsMax; waitedMs += pollMs) {
    const answer = await fetch(`http://127.0.0.1:${apiPort}/v1/webhooks`, init).catch(
      () => undefined,
    );
    if (answer?.status === 201) return;
    if (answer !== undefined)
      throw new Error(`Wrong answer: ${answer.status} ${await answer.text()}`);
    await wait(pollMs);
  }
  throw new Error('Cannot measure: the API does not listen');
}

/** Everything received until there are `count`. @throws Error when they do not arrive, or more do */
async function receive(
  receiver: Receiver,
  count: number,
): Promise<{ firstMs: number; lastMs: number }> {
  let requests = 0;
  let firstMs = 0;
  let quietMs = 0;
  for (;;) {
    const part = await receiver.take();
    if (requests === 0 && part.requests > 0) firstMs = part.firstMs;
    requests += part.requests;
    if (requests > count) throw new Error(`${requests} deliveries came, expected ${count}`);
    if (requests === count) return { firstMs, lastMs: part.lastMs };
    quietMs = part.requests === 0 ? quietMs + pollMs : 0;
    if (quietMs > idleMsMax) throw new Error(`${requests} deliveries came, expected ${count}`);
    await wait(pollMs);
  }
}

export interface DeliverSample {
  /** Per second, from the first to the last that arrived. */
  readonly rate: number;
  readonly microseconds: number;
  /** CPU of the busiest thread. */
  readonly busiestMicroseconds: number;
}

export interface DeliverCost {
  readonly own: readonly DeliverSample[];
  readonly bare: readonly DeliverSample[];
  /** The receiver's CPU for one request. */
  readonly receiverMicroseconds: readonly number[];
  readonly bytes: number;
}

export interface DeliverCostBounds {
  /** Rounds that are not reported. */
  readonly warmUps: number;
  readonly rounds: number;
  /** Deliveries of a sample. */
  readonly count: number;
}

/** The cost of a delivery and of a bare POST, alternating. */
export async function measureDeliverCost(
  stage: Stage,
  { warmUps, rounds, count }: DeliverCostBounds,
): Promise<DeliverCost> {
  const { service, receiver, bare } = stage;
  const own: DeliverSample[] = [];
  const loop: DeliverSample[] = [];
  const receiverMicroseconds: number[] = [];
  let bytes = 0;
  const sample = async (pid: number, run: () => Promise<unknown>): Promise<DeliverSample> => {
    const before = threadNanoseconds(pid);
    const receiverBefore = threadNanoseconds(receiver.pid);
    await run();
    const { firstMs, lastMs } = await receive(receiver, count);
    await wait(settleMs);
    const spent = spentSince(pid, before);
    const received = spentSince(receiver.pid, receiverBefore);
    receiverMicroseconds.push(received.allNanoseconds / 1e3 / count);
    return {
      rate: count / ((lastMs - firstMs) / 1e3),
      microseconds: spent.allNanoseconds / 1e3 / count,
      busiestMicroseconds: Math.max(...spent.byThread.values()) / 1e3 / count,
    };
  };
  for (let round = 0; round < warmUps + rounds; round++) {
    const mine = await sample(service.server.pid, async () => (bytes = await stage.feed(count)));
    const order = { port: receiver.port, connections: kinds.length * perEndpoint, count, bytes };
    const theirs = await sample(bare.pid, () => bare.post(order));
    if (round < warmUps) continue;
    own.push(mine);
    loop.push(theirs);
  }
  return { own, bare: loop, receiverMicroseconds, bytes };
}

export interface ScanDelay {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly posts: number;
  readonly lists: number;
  readonly redirectP99Ms: number;
  /** Cores busy meanwhile: the service's, the receiver's. */
  readonly serviceCores: number;
  readonly receiverCores: number;
}

/** The time from a redirect to its receiver, `rounds` of each rate, alternating. */
export async function measureScanDelay(
  stage: Stage,
  rates: readonly number[],
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
): Promise<Map<number, ScanDelay[]>> {
  const paths = pathsOf(hotCodes + coldCodes);
  const hot = Array.from({ length: hotRepeats }, () => paths.slice(0, hotCodes)).flat();
  const requests = createRequests('q.example', [...hot, ...paths.slice(hotCodes)], 8_192);
  const load = { port: stage.service.server.port, requests, connections };
  const found = new Map<number, ScanDelay[]>(rates.map((rate) => [rate, []]));
  await delaySample(stage, { ...load, rate: rates[0]!, seconds: Math.min(1, seconds) });
  for (let round = 0; round < rounds; round++) {
    for (const [rate, done] of found) {
      done.push(await delaySample(stage, { ...load, rate, seconds }));
    }
  }
  return found;
}

async function delaySample(stage: Stage, load: Parameters<typeof pace>[0]): Promise<ScanDelay> {
  const { service, receiver } = stage;
  const before = threadNanoseconds(service.server.pid);
  const receiverBefore = threadNanoseconds(receiver.pid);
  const { sent, latenciesMs } = await pace(load);
  let delaysMs: number[] = [];
  let posts = 0;
  let lists = 0;
  for (let waitedMs = 0; delaysMs.length < sent; waitedMs += pollMs) {
    if (waitedMs > idleMsMax) throw new Error(`${delaysMs.length} scans came, expected ${sent}`);
    await wait(pollMs);
    const part = await receiver.take();
    delaysMs = delaysMs.concat(part.latenciesMs);
    posts += part.requests;
    lists += part.batches;
  }
  await wait(settleMs);
  const extra = await receiver.take();
  if (extra.requests > 0) throw new Error(`${extra.requests} deliveries came twice`);
  const cores = (pid: number, since: ReadonlyMap<number, number>): number =>
    spentSince(pid, since).allNanoseconds / 1e9 / load.seconds;
  return {
    p50Ms: quantile(delaysMs, 0.5),
    p99Ms: quantile(delaysMs, 0.99),
    posts,
    lists,
    redirectP99Ms: quantile(latenciesMs, 0.99),
    serviceCores: cores(service.server.pid, before),
    receiverCores: cores(receiver.pid, receiverBefore),
  };
}

export interface Felt {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Redirects without deliveries and with a queue that never empties, alternating. */
export async function measureFelt(
  stage: Stage,
  {
    rate,
    rounds,
    seconds,
  }: { readonly rate: number; readonly rounds: number; readonly seconds: number },
): Promise<{ readonly idle: readonly Felt[]; readonly saturated: readonly Felt[] }> {
  const { service, receiver } = stage;
  const requests = createRequests('q.example', pathsOf(coldCodes), 8_192);
  const load = { port: service.server.port, requests, connections, rate, seconds };
  const felt = async (): Promise<Felt> => {
    const { latenciesMs } = await pace(load);
    return { p50Ms: quantile(latenciesMs, 0.5), p99Ms: quantile(latenciesMs, 0.99) };
  };
  const idle: Felt[] = [];
  const saturated: Felt[] = [];
  await pace({ ...load, seconds: Math.min(1, seconds) });
  for (let round = 0; round < rounds; round++) {
    idle.push(await felt());
    const backlog = backlogPerSecond * seconds;
    await stage.feed(backlog);
    const sent = await firstOf(receiver);
    saturated.push(await felt());
    const meanwhile = sent + (await receiver.take()).requests;
    if (meanwhile >= backlog) throw new Error('Cannot measure: the queue was empty before the end');
    await receive(receiver, backlog - meanwhile);
    await wait(settleMs);
  }
  return { idle, saturated };
}

/** The number received, once there is any. */
async function firstOf(receiver: Receiver): Promise<number> {
  for (let waitedMs = 0; waitedMs < idleMsMax; waitedMs += pollMs) {
    const { requests } = await receiver.take();
    if (requests > 0) return requests;
    await wait(pollMs);
  }
  throw new Error('No delivery comes');
}
