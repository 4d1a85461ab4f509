/**
 * Webhooks: the cost of a delivery against a bare loop of POSTs, the time from a redirect to its receiver, and the
 * slow-down of redirects while deliveries never pause. The real service, a receiver in its own process, loopback.
 *
 * For the cost the events of a sample are written to the outbox in one transaction of another process, which the
 * service finds at its next look, once a second: creating them is not measured, and nothing pauses from the first
 * arrival to the last. The service does the rest: read the event, create the delivery, sign, send, commit the result.
 * One endpoint for each of four kinds, 16 at once: 64 connections, as the bare loop has.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { quantile } from '../../report.ts';
import { spentSince, threadNanoseconds } from '../cpu.ts';
import { pace } from '../pacer.ts';
import type { Receiver } from '../peers.ts';
import { createRequests } from '../requests.ts';
import { pathsOf } from '../seed.ts';
import { coldCodes, fedKinds, hotCodes, receive, type Stage } from './stage.ts';

const perEndpoint = 16;
/** Until results are committed and LMDB's own threads have ended. */
const settleMs = 500;
const pollMs = 20;
const idleMsMax = 20_000;
/** Deliveries queued for each second in which redirects are measured: more than can be sent meanwhile. */
const backlogPerSecond = 40_000;
const connections = 64;
/** Of ten scans nine are of the ten busy codes: lists; the tenth is of one among a thousand: alone. */
const hotRepeats = 900;

export interface DeliverSample {
  /** Per second, from the first to the last that arrived. */
  readonly rate: number;
  readonly microseconds: number;
  /** CPU of the busiest thread. */
  readonly busiestMicroseconds: number;
}

export interface DeliverCost {
  /** Of each stage. */
  readonly services: ReadonlyArray<readonly DeliverSample[]>;
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

/** The cost of a delivery of each stage and of a bare POST, alternating. */
export async function measureDeliverCost(
  stages: readonly [Stage, ...Stage[]],
  { warmUps, rounds, count }: DeliverCostBounds,
): Promise<DeliverCost> {
  const services = stages.map((): DeliverSample[] => []);
  const loop: DeliverSample[] = [];
  const receiverMicroseconds: number[] = [];
  let bytes = 0;
  const sample = async (receiver: Receiver, pid: number, run: () => Promise<unknown>) => {
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
  const [{ receiver, bare }] = stages;
  for (let round = 0; round < warmUps + rounds; round++) {
    for (const [at, stage] of stages.entries()) {
      const feed = async () => (bytes = await stage.feed(count));
      const one = await sample(stage.receiver, stage.service.server.pid, feed);
      if (round >= warmUps) services[at]!.push(one);
    }
    const order = { port: receiver.port, connections: fedKinds.length * perEndpoint, count, bytes };
    const one = await sample(receiver, bare.pid, () => bare.post(order));
    if (round >= warmUps) loop.push(one);
  }
  return { services, bare: loop, receiverMicroseconds, bytes };
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
