/**
 * What `quietzone doctor` sees of the brokers: every address for itself and side by side, within a few seconds. It stores
 * and changes nothing.
 */
import type { Clock } from '../../model/clock.ts';
import { messageOf } from '../../model/failure.ts';
import {
  type Dial,
  dialsOf,
  findFault,
  isForbidden,
  type NatsOptions,
  type Session,
  UnreachedError,
} from './nats-connection.ts';
import { faultsOf, hasMajority, unlessMissing } from './nats-stream.ts';

/** An address of `cluster.nats`. */
export interface BrokerSeen {
  /** Host and port, without credentials. */
  readonly host: string;
  /** Why it cannot be used; undefined where it can. */
  readonly fault: string | undefined;
  /** It may only be down. */
  readonly isUnreached: boolean;
  readonly version: string;
  readonly serverId: string;
  /** Of brokers; undefined for one alone. */
  readonly cluster: string | undefined;
  readonly isEncrypted: boolean;
}

export interface StreamSeen {
  readonly name: string;
  /** Undefined where it does not exist yet. */
  readonly replicas: number | undefined;
  /** What keeps it from being used. */
  readonly faults: readonly string[];
  /** Copies that are away or behind. */
  readonly late: readonly string[];
}

export interface BrokersSeen {
  readonly brokers: readonly BrokerSeen[];
  /** Why JetStream cannot be used; undefined where it can, and where no broker answers. */
  readonly jetStreamFault: string | undefined;
  readonly streams: readonly StreamSeen[];
  /** The clock of a broker minus this machine's; with what the way may account for. */
  readonly clock: { readonly aheadMs: number; readonly withinMs: number } | undefined;
  /** Of an edge: what it may not do, as `publish qz.scans.a`. */
  readonly forbidden: readonly string[];
}

export interface StreamWanted {
  readonly stream: string;
  readonly subject: string;
}

export interface InspectionOptions {
  readonly nats: NatsOptions;
  readonly clock: Pick<Clock, 'now'>;
  /** Empty for an edge, which has no rights of JetStream. */
  readonly streams: readonly StreamWanted[];
  readonly replicas: number;
  /** Subjects whose rights are tried; nothing that is stored. */
  readonly publishes: readonly string[];
  readonly subscribes: readonly string[];
}

/** @throws Error for an address that is not valid */
export async function inspectBrokers(options: InspectionOptions): Promise<BrokersSeen> {
  const dialled = await Promise.all(dialsOf(options.nats).map(([host, dial]) => see(host, dial)));
  const session = dialled.find((one) => one.session !== undefined)?.session;
  const brokers = dialled.map(({ seen }) => seen);
  const none = { brokers, jetStreamFault: undefined, streams: [], clock: undefined, forbidden: [] };
  try {
    if (session === undefined) return none;
    if (options.streams.length === 0)
      return { ...none, forbidden: await tryRights(session, options) };
    const jetStreamFault = await findFault(session, 'core');
    if (jetStreamFault !== undefined) return { ...none, jetStreamFault };
    const found = await Promise.all(options.streams.map((one) => seeStream(session, one, options)));
    const clock = found.map((one) => one.clock).find((one) => one !== undefined);
    return { ...none, streams: found.map(({ seen }) => seen), clock };
  } finally {
    await Promise.all(dialled.map(async (one) => await one.session?.client.close()));
  }
}

async function see(
  host: string,
  dial: Dial,
): Promise<{ readonly seen: BrokerSeen; readonly session?: Session }> {
  const none = { host, version: '', serverId: '', cluster: undefined, isEncrypted: false };
  try {
    const session = await dial();
    const { info } = session.client;
    const cluster: unknown = Reflect.get(Object(info), 'cluster');
    const seen = {
      host,
      fault: undefined,
      isUnreached: false,
      version: info?.version ?? 'unknown',
      serverId: info?.server_id ?? '',
      cluster: typeof cluster === 'string' ? cluster : undefined,
      isEncrypted: info?.tls_required === true || info?.tls_available === true,
    };
    return { seen, session };
  } catch (error) {
    const isUnreached = error instanceof UnreachedError;
    return { seen: { ...none, fault: messageOf(error), isUnreached } };
  }
}

async function seeStream(
  { manager }: Session,
  { stream, subject }: StreamWanted,
  { clock, replicas }: InspectionOptions,
): Promise<{ readonly seen: StreamSeen; readonly clock?: BrokersSeen['clock'] }> {
  const seen = { name: stream, replicas: undefined, faults: [], late: [] };
  const sentMs = clock.now();
  try {
    const info = await unlessMissing(() => manager.streams.info(stream));
    if (info === undefined) return { seen };
    const withinMs = (clock.now() - sentMs) / 2;
    const { config, cluster } = info;
    const faults = faultsOf(config, subject, replicas);
    if (!hasMajority(cluster)) faults.push('most of its copies do not answer, expected a majority');
    const late = (cluster?.replicas ?? [])
      .filter(({ offline, current }) => offline || !current)
      .map(({ name, offline, lag }) =>
        offline ? `${name} is offline` : `${name} is ${lag ?? 0} entries behind`,
      );
    return {
      seen: { name: stream, replicas: config.num_replicas, faults, late },
      clock: { aheadMs: Date.parse(info.ts ?? '') - sentMs - withinMs, withinMs },
    };
  } catch (error) {
    return { seen: { ...seen, faults: [`it has no leader that answers (${messageOf(error)})`] } };
  }
}

/** No stream has this name: it refuses the message, and stores nothing. */
const refusedStream = 'quietzone-doctor';
const rightMs = 500;

/**
 * A refusal comes by itself, after what is refused; the client ties it to the request or subscription of its subject, and
 * what comes before the answer to a further ping is all of it. Scans name a stream that does not exist; other receivers ignore
 * an empty message.
 */
async function tryRights(
  { client }: Session,
  { publishes, subscribes }: InspectionOptions,
): Promise<string[]> {
  const { natsClient } = await import('./nats-client.ts');
  const forbidden: string[] = [];
  const subscriptions = subscribes.map((subject) =>
    client.subscribe(subject, {
      callback: (error) => {
        if (error !== null) forbidden.push(`subscribe ${subject}`);
      },
    }),
  );
  const tried = publishes.map(async (subject) => {
    const headers = natsClient.headers();
    headers.set('Nats-Expected-Stream', refusedStream);
    try {
      await client.request(subject, '', { timeout: rightMs, headers });
    } catch (error) {
      // No answer, or no listener: the broker let it through.
      if (isForbidden(error)) forbidden.push(`publish ${subject}`);
    }
  });
  await Promise.all([...tried, client.flush()]);
  for (const subscription of subscriptions) subscription.unsubscribe();
  return forbidden;
}
