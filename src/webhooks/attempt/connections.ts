/**
 * Kept-alive HTTP/1.1 connections to receivers, of one thread: undici's client, one per socket.
 *
 *   take(target, addresses) -- idle one of the same origin and the same addresses? it : a new one
 *        |                       (connects to one of these addresses and to nothing else)
 *     one request
 *        |
 *   release() -> idle, newest taken first, closed after 4 s      drop() -> closed at once
 *
 * - The name is never looked up here: the socket is given the addresses that were checked, tries them
 *   in turn (RFC 8305, 250 ms apart) and reports which one it took. That one is checked once more before
 *   a byte is sent. When the name resolves to other addresses, new connections are opened; the old ones idle out.
 * - One connection carries one request at a time, so a receiver that hangs delays no other request, on the
 *   same host or another, and `drop` ends exactly one attempt.
 * - Connections open <= max(connectionsMax, requests that run): above connectionsMax the longest idle is
 *   closed first. The caller bounds what runs.
 * - Connecting has no time limit of its own: the caller drops the connection at its deadline.
 * - Certificates are verified whatever the environment says (NODE_TLS_REJECT_UNAUTHORIZED); further
 *   authorities are trusted by NODE_EXTRA_CA_CERTS.
 */
import {
  connect as connectTcp,
  isIP,
  type LookupFunction,
  type Socket,
  type TcpNetConnectOpts,
} from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import type { FailureClass } from '../../model/webhook.ts';
import type { AddressGuard } from './blocked-networks.ts';
import { Refusal, type Target } from './egress.ts';

/** One more byte of header and the answer is refused. */
const headerBytesMax = 16_384;
/** Faults of our own process, not of the receiver. */
const ownFaults: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

export type Request = Pick<Dispatcher.DispatchOptions, 'path' | 'headers' | 'body'>;

/** Connections of one origin at one set of addresses. */
class Destination {
  readonly key: string;
  readonly target: Target;
  /** In the latest order that the name server gave. */
  addresses: readonly string[];
  readonly idle: Connection[] = [];
  connections = 0;
  tlsSession: Buffer | undefined;

  constructor(key: string, target: Target, addresses: readonly string[]) {
    this.key = key;
    this.target = target;
    this.addresses = addresses;
  }
}

export class Connection {
  readonly destination: Destination;
  /** The address it is connected to, or that refused it; undefined until it is known. */
  remoteIp: string | undefined;
  /** Requests answered since the socket was opened: above 0 the receiver may just be closing it. */
  answered = 0;
  readonly #owner: Connections;
  readonly #client: Client;
  #socket: Socket | undefined;
  #isDropped = false;

  constructor(owner: Connections, destination: Destination) {
    this.#owner = owner;
    this.destination = destination;
    this.#client = new Client(destination.target.origin, {
      connect: (_options, callback) => this.#connect(callback),
      pipelining: 1,
      keepAliveTimeout: owner.idleMs,
      keepAliveMaxTimeout: owner.idleMs,
      maxHeaderSize: headerBytesMax,
      // The caller has one deadline for the whole attempt; undici's two start anew with every chunk.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    // Idle and closed by either side: a client without its socket is useless.
    this.#client.on('disconnect', () => this.#owner.closed(this));
  }

  /** POSTs; the handler is called for every outcome. */
  post(request: Request, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch({ ...request, method: 'POST' }, handler);
  }

  /** The request ended well: the connection may serve another. */
  release(): void {
    this.answered += 1;
    if (!this.#isDropped) this.#owner.released(this);
  }

  /** Closes the connection and aborts its request. Harmless when repeated. */
  drop(): void {
    if (this.#isDropped) return;
    this.#isDropped = true;
    this.#owner.remove(this);
    void this.#client.destroy().catch(() => undefined);
    // The client does not know a socket that is still connecting.
    this.#socket?.destroy();
  }

  #connect(callback: buildConnector.Callback): void {
    const { target } = this.destination;
    const isTls = target.origin.startsWith('https:');
    const socket = isTls ? this.#openTls() : this.#openTcp();
    this.#socket = socket;
    this.answered = 0;
    this.remoteIp = undefined;
    let failure: FailureClass = 'connect';
    let isReported = false;
    socket.once('connect', () => {
      this.remoteIp = socket.remoteAddress;
      failure = 'tls';
      if (this.#owner.isAllowed(this.remoteIp)) return;
      failure = 'blocked_ip';
      socket.destroy(new Error('The address is not allowed'));
    });
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      if (isReported || socket.destroyed) return;
      isReported = true;
      callback(null, socket);
    });
    const fail = (error?: NodeJS.ErrnoException): void => {
      if (isReported) return;
      isReported = true;
      this.remoteIp ??= refusedBy(error);
      if (ownFaults.has(error?.code ?? '')) failure = 'unknown';
      callback(new Refusal(failure, 'Cannot connect', { cause: error }), null);
    };
    socket.on('error', fail);
    socket.once('close', () => fail());
    socket.setNoDelay(true);
  }

  #openTcp(): Socket {
    return connectTcp(this.#socketOptions());
  }

  #openTls(): Socket {
    const { destination } = this;
    const { host } = destination.target;
    const socket = connectTls({
      ...this.#socketOptions(),
      servername: isIP(host) === 0 ? host : '',
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: true,
      ...(destination.tlsSession === undefined ? {} : { session: destination.tlsSession }),
    });
    socket.on('session', (session) => (destination.tlsSession = session));
    return socket;
  }

  #socketOptions(): TcpNetConnectOpts & { readonly host: string } {
    const { target, addresses } = this.destination;
    const { port, protocol } = new URL(target.origin);
    const lookup: LookupFunction = (_name, { all }, callback) => {
      const known = addresses.map((address) => ({ address, family: isIP(address) }));
      const [first = { address: '', family: 0 }] = known;
      if (all === true) callback(null, known);
      else callback(null, first.address, first.family);
    };
    const usual = protocol === 'https:' ? 443 : 80;
    return {
      host: target.host,
      port: port === '' ? usual : Number(port),
      lookup,
      autoSelectFamily: true,
    };
  }
}

/** The address in a connect error; of several the last that was tried. */
function refusedBy(error: unknown): string | undefined {
  const tried: unknown = error instanceof AggregateError ? error.errors.at(-1) : error;
  const address: unknown = tried instanceof Error ? Reflect.get(tried, 'address') : undefined;
  return typeof address === 'string' ? address : undefined;
}

export class Connections {
  readonly #guard: AddressGuard;
  readonly #connectionsMax: number;
  /** An idle connection is closed after this. */
  readonly idleMs: number;
  readonly #destinations = new Map<string, Destination>();
  /** All connections, and those that are idle, the longest idle first. */
  readonly #open = new Set<Connection>();
  readonly #idle = new Set<Connection>();

  constructor(guard: AddressGuard, connectionsMax: number, idleMs: number) {
    this.#guard = guard;
    this.#connectionsMax = connectionsMax;
    this.idleMs = idleMs;
  }

  get open(): number {
    return this.#open.size;
  }

  /** A connection for one request, to one of `addresses`: an idle one, or a new one. */
  take(target: Target, addresses: readonly string[]): Connection {
    const destination = this.#destination(target, addresses);
    const idle = destination.idle.pop();
    if (idle === undefined) return this.#add(destination);
    this.#idle.delete(idle);
    return idle;
  }

  /** As `take`, but always a new one. */
  takeFresh(target: Target, addresses: readonly string[]): Connection {
    return this.#add(this.#destination(target, addresses));
  }

  close(): void {
    for (const connection of this.#open) connection.drop();
  }

  isAllowed(address: string | undefined): boolean {
    return address !== undefined && !this.#guard.isDenied(address);
  }

  released(connection: Connection): void {
    connection.destination.idle.push(connection);
    this.#idle.add(connection);
  }

  /** Its socket was closed: an idle one is dropped; the handler of a request is called by undici. */
  closed(connection: Connection): void {
    if (this.#idle.has(connection)) connection.drop();
  }

  remove(connection: Connection): void {
    const { destination } = connection;
    this.#open.delete(connection);
    if (this.#idle.delete(connection)) {
      destination.idle.splice(destination.idle.indexOf(connection), 1);
    }
    destination.connections -= 1;
    if (destination.connections === 0) this.#destinations.delete(destination.key);
  }

  #add(destination: Destination): Connection {
    if (this.#open.size >= this.#connectionsMax) {
      const [longest] = this.#idle;
      longest?.drop();
    }
    const connection = new Connection(this, destination);
    destination.connections += 1;
    this.#destinations.set(destination.key, destination);
    this.#open.add(connection);
    return connection;
  }

  #destination(target: Target, addresses: readonly string[]): Destination {
    const sorted = addresses.length === 1 ? addresses[0] : addresses.toSorted().join();
    const key = `${target.origin} ${sorted}`;
    const known = this.#destinations.get(key);
    if (known === undefined) return new Destination(key, target, addresses);
    known.addresses = addresses;
    return known;
  }
}
