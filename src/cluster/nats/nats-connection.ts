/**
 * The connection of this machine to NATS, shared by its logs and reports. The client is loaded when it is opened: a
 * service without cluster mode never reads it.
 *
 *     begin ──▶ away ──dialled, each 250 ms──▶ connected ──lost──▶ away … ──close──▶ closed
 *
 * The client's own reconnecting is off: it keeps what was published meanwhile and sends it later, resumes readings over
 * entries that were on the way, and hangs on a server that is frozen. Here whatever waited on a lost connection is
 * refused at once (`lost`), and each new one is examined.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream';
import type { ConnectionOptions, Msg, NatsConnection as Client } from '@nats-io/transport-node';
import { messageOf } from '../../model/failure.ts';
import { Signal } from '../../model/signal.ts';

export interface NatsOptions {
  /** Such as `nats://n1:4222`; `tls://` demands encryption; `nats://user:password@n1` signs in. */
  readonly servers: readonly string[];
  readonly credsFile?: string;
  /** Seen in the brokers' lists of connections and consumers; answers come to `_INBOX.<nodeName>.>`. */
  readonly nodeName: string;
}

/** The first whose compare-and-set one writer alone can win (nats-server issue 4320). */
const oldestVersion = [2, 10, 27] as const;
/** To connect to one server; each is tried in turn. */
const dialMs = 2_000;
const redialMs = 250;
/** Timeout of a request to the API of JetStream. */
export const apiMs = 2_000;
/** A connection whose server neither answers nor sends anything for so long is closed; another server is dialled. */
const silentMs = 3_000;
const checkMs = 1_000;

/** A connection to one server, until it is lost or closed. */
export interface Session {
  readonly client: Client;
  readonly jetstream: JetStreamClient;
  readonly manager: JetStreamManager;
}

interface Subscription {
  readonly subject: string;
  readonly received: (message: Msg) => void;
}

export type Dial = () => Promise<Session>;

export class NatsConnection {
  /** Fired when the connection is lost or closed: nothing that was asked over it is answered any more. */
  readonly lost = new Signal();
  readonly #back = new Signal();
  readonly #dial: Dial;
  /** Each with a function that ends it in this session. */
  readonly #subscriptions = new Map<Subscription, () => void>();
  #session: Session | undefined;
  #closed = false;
  /** Why the session is missing. */
  #why = 'NATS was not reached yet';
  /** Why the session cannot use JetStream. */
  #fault: string | undefined;

  constructor(dial: Dial) {
    this.#dial = dial;
    void this.#redial();
  }

  /** Why NATS cannot be used now, for an operator; undefined while it can. */
  get problem(): string | undefined {
    if (this.#closed) return undefined;
    return this.#session === undefined ? this.#why : this.#fault;
  }

  /** @returns the session, when there is one again; rejects after `withinMs`, and when it was closed */
  ready(withinMs: number): Promise<Session> {
    if (this.#session !== undefined) return Promise.resolve(this.#session);
    if (this.#closed) return Promise.reject(new Error('The connection to NATS is closed'));
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        unlisten();
        if (this.#session !== undefined) resolve(this.#session);
        else reject(new Error(this.#closed ? 'The connection to NATS is closed' : this.#why));
      };
      const timer = setTimeout(settle, withinMs);
      const unlisten = this.#back.listen(settle);
    });
  }

  /** Publishes without a stream: dropped while NATS is away, and where there is no subscriber. */
  publish(subject: string, bytes: Uint8Array): void {
    this.#session?.client.publish(subject, bytes);
  }

  /** What is published while NATS is away is missed. @returns ends it */
  subscribe(subject: string, listener: (bytes: Uint8Array, subject: string) => void): () => void {
    return this.#receive(subject, (message) => listener(message.data, message.subject));
  }

  /**
   * Asks whom there is at the subject. @returns the first answer
   * @throws Error when there is no connection within `withinMs`, nothing listens, or no answer comes within `withinMs`
   */
  async request(subject: string, bytes: Uint8Array, withinMs: number): Promise<Uint8Array> {
    const { client } = await this.ready(withinMs);
    return (await client.request(subject, bytes, { timeout: withinMs })).data;
  }

  /**
   * Answers requests. @param answer undefined leaves it to others; its rejection does too
   * @returns ends it
   */
  answer(
    subject: string,
    answer: (bytes: Uint8Array, subject: string) => Promise<Uint8Array | undefined>,
  ): () => void {
    return this.#receive(subject, (message) => {
      const respond = (bytes: Uint8Array | undefined): void => {
        if (bytes !== undefined) message.respond(bytes);
      };
      answer(message.data, message.subject).then(respond, () => {});
    });
  }

  #receive(subject: string, received: Subscription['received']): () => void {
    const subscription = { subject, received };
    this.#subscriptions.set(subscription, () => {});
    this.#listen(subscription);
    return () => {
      this.#subscriptions.get(subscription)?.();
      this.#subscriptions.delete(subscription);
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const session = this.#session;
    this.#session = undefined;
    this.lost.fire();
    this.#back.fire();
    await session?.client.close();
  }

  #begin(session: Session): void {
    this.#session = session;
    const unwatch = watch(session.client);
    const closed = async (): Promise<void> => {
      const error = await session.client.closed();
      unwatch();
      this.#lose(session, error instanceof Error ? error.message : 'it closed the connection');
    };
    void closed();
    for (const subscription of this.#subscriptions.keys()) this.#listen(subscription);
    this.#back.fire();
  }

  #listen(subscription: Subscription): void {
    if (this.#session === undefined) return;
    const { subject, received } = subscription;
    const subscribed = this.#session.client.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) received(message);
      },
    });
    this.#subscriptions.set(subscription, () => subscribed.unsubscribe());
  }

  #lose(session: Session, why: string): void {
    if (this.#session !== session) return;
    this.#session = undefined;
    this.#why = `NATS at ${session.client.getServer()} is lost: ${why}`;
    this.lost.fire();
    void this.#redial();
  }

  async #redial(): Promise<void> {
    while (!this.#closed) {
      try {
        const session = await this.#dial();
        if (this.#closed) {
          await session.client.close();
          return;
        }
        this.#begin(session);
        void this.#examine(session);
        return;
      } catch (error) {
        this.#why = messageOf(error);
        await pause(redialMs);
      }
    }
  }

  /** A fault of JetStream ends nothing: it may pass, and what needs no stream continues. */
  async #examine(session: Session): Promise<void> {
    this.#fault = undefined;
    while (this.#session === session) {
      const fault = await findFault(session);
      if (this.#session !== session) return;
      this.#fault = fault;
      if (fault === undefined) return;
      await pause(checkMs, undefined, { ref: false });
    }
  }
}

/**
 * A connection that is away at first, and dials until it is closed: for work that continues without NATS. Whatever is wrong,
 * also an old server or refused credentials, is its `problem`, and is tried again.
 * @throws Error for an address that is not valid
 */
export function beginNats(options: NatsOptions): NatsConnection {
  return new NatsConnection(dialServers(options, parseServers(options)));
}

/** A dial for each address, by its host. @throws Error for an address that is not valid */
export function dialsOf(options: NatsOptions): ReadonlyArray<readonly [host: string, dial: Dial]> {
  const all = parseServers(options);
  return all.servers.map((host) => [
    host,
    dialServers(options, { ...all, servers: [host], hosts: host }),
  ]);
}

function dialServers(options: NatsOptions, { servers, hosts, user, tls }: Servers): Dial {
  return async () => {
    const { natsClient } = await import('./nats-client.ts');
    const { connect, credsAuthenticator, jetstream, jetstreamManager } = natsClient;
    const credentials = await readCredentials(options.credsFile);
    const settings: ConnectionOptions = {
      ...user,
      ...(credentials && { authenticator: credsAuthenticator(credentials) }),
      ...(tls && { tls }),
      servers,
      name: options.nodeName,
      // The only one that the permissions of an edge have.
      inboxPrefix: `_INBOX.${options.nodeName}`,
      timeout: dialMs,
      reconnect: false,
      // A stack kept for each request costs more than the request.
      noAsyncTraces: true,
    };
    let client: Client;
    try {
      client = await connect(settings);
    } catch (error) {
      throw dialFault(hosts, error);
    }
    const fault = versionFault(client);
    if (fault !== undefined) {
      await client.close();
      throw new Error(fault);
    }
    const manager = await jetstreamManager(client, { checkAPI: false, timeout: apiMs });
    return { client, jetstream: jetstream(client), manager };
  };
}

/**
 * Why JetStream cannot be used; undefined where it can.
 * @param role an edge may use its streams without being allowed to ask about the account
 */
export async function findFault(
  { client, manager }: Session,
  role: 'core' | 'any' = 'any',
): Promise<string | undefined> {
  const server = client.getServer();
  try {
    await manager.getAccountInfo();
    return undefined;
  } catch (error) {
    if (isForbidden(error) && role === 'any') return undefined;
    if (isForbidden(error)) return `Cannot use NATS at ${server}: this user may not use JetStream`;
    return nameOf(error) === 'JetStreamNotEnabled'
      ? `Cannot use NATS at ${server}: JetStream is off for this account, expected it on`
      : `Cannot use NATS at ${server}: JetStream does not answer (${messageOf(error)}), expected a majority of its servers up`;
  }
}

interface Servers {
  readonly servers: string[];
  /** For messages: without credentials. */
  readonly hosts: string;
  readonly user: { readonly user: string; readonly pass: string } | undefined;
  readonly tls: Record<string, never> | undefined;
}

/** The client takes hosts only: it would read a user as a part of the host. */
function parseServers({ servers }: NatsOptions): Servers {
  const urls = servers.map((server) => {
    const text = server.includes('://') ? server : `nats://${server}`;
    const url = URL.parse(text);
    if (url !== null) return url;
    throw new Error(`Cannot use NATS: a server is not an address such as nats://n1:4222`);
  });
  const hosts = urls.map(({ host }) => host);
  const signed = urls.find(({ username }) => username !== '');
  const encrypted = urls.some(({ protocol }) => protocol === 'tls:');
  return {
    servers: hosts,
    hosts: hosts.join(', '),
    user: signed && {
      user: decodeURIComponent(signed.username),
      pass: decodeURIComponent(signed.password),
    },
    tls: encrypted ? {} : undefined,
  };
}

async function readCredentials(path: string | undefined): Promise<Uint8Array | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path);
  } catch (error) {
    throw new Error(`Cannot read the NATS credentials: ${messageOf(error)}`, { cause: error });
  }
}

function versionFault(client: Client): string | undefined {
  const found = client.info?.version ?? 'unknown';
  const parts = found.split('.').map((part) => Number.parseInt(part, 10));
  const at = [0, 1, 2].find((part) => parts[part] !== oldestVersion[part]);
  if (at === undefined || (parts[at] ?? 0) > oldestVersion[at]!) return undefined;
  return `Cannot use NATS at ${client.getServer()}: it is version ${found}, expected ${oldestVersion.join('.')} or newer (several writers pass its compare-and-set)`;
}

/** No server answers at the addresses; it may be up again soon. */
export class UnreachedError extends Error {
  override readonly name = 'UnreachedError';
}

function dialFault(hosts: string, cause: unknown): Error {
  if (cause instanceof Error && cause.name.includes('Auth')) {
    const text = `Cannot use NATS at ${hosts}: it refuses the credentials (${cause.message})`;
    return new Error(text, { cause });
  }
  return new UnreachedError(`Cannot reach NATS at ${hosts}: ${messageOf(cause)}`, { cause });
}

export const isForbidden = (error: unknown): boolean =>
  nameOf(error) === 'PermissionViolationError' ||
  (error instanceof Error && nameOf(error.cause) === 'PermissionViolationError');

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '');

/**
 * Closes a client whose server is silent though it is asked. The client's own check counts answers alone, which on a
 * slow line come after megabytes that are being read. @returns ends it
 */
function watch(client: Client): () => void {
  let asked = false;
  let silentChecks = 0;
  let messages = 0;
  const ask = async (): Promise<void> => {
    asked = true;
    await client.flush();
    asked = false;
  };
  const timer = setInterval(() => {
    const { inMsgs } = client.stats();
    silentChecks = asked && inMsgs === messages ? silentChecks + 1 : 0;
    messages = inMsgs;
    if (silentChecks * checkMs >= silentMs) {
      clearInterval(timer);
      void client.close();
    } else if (!asked) {
      // Refused when the connection ends, which is seen elsewhere.
      ask().catch(() => {});
    }
  }, checkMs);
  return () => clearInterval(timer);
}
