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
 *
 * Not undici's `Pool`: it does not tell which socket serves a request, so an attempt would not know the address it
 * went to, whether the socket was kept alive, or what to close; and it closes no idle connection of another origin.
 */
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import type { FailureClass } from '../../model/webhook.ts';
import { type AddressGuard, Refusal, type Target } from './egress.ts';

/** One more byte of header and the answer is refused. */
const headerBytesMax = 16_384;
/** Destinations kept, with a TLS session about 3 KB each; the connections of one beyond it idle out. */
const destinationsMax = 4_096;
/** Faults of our own process, not of the receiver. */
const ownFaults: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/** Connections of one origin at one set of addresses. */
interface Destination {
  readonly target: Target;
  /** In the latest order that the name server gave. */
  addresses: readonly string[];
  /** The longest idle first. */
  readonly idle: Connection[];
  tlsSession: Buffer | undefined;
}

export class Connection {
  readonly destination: Destination;
  /** The address it is connected to, or that refused it; undefined until it is known. */
  remoteIp: string | undefined;
  /** Requests answered since the socket was opened: above 0 the receiver may just be closing it. */
  answered = 0;
  /** Its place in the order of all releases; 0 while it carries a request. */
  idleSince = 0;
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
    this.#client.on('disconnect', () => {
      if (this.idleSince > 0) this.drop();
    });
  }

  /** The handler is called for every outcome. */
  send(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(request, handler);
  }

  /** The request ended well: the connection may serve another. */
  release(): void {
    this.answered += 1;
    if (this.#isDropped) return;
    this.idleSince = this.#owner.nextRelease();
    this.destination.idle.push(this);
  }

  /** Closes the connection and aborts its request. Harmless when repeated. */
  drop(): void {
    if (this.#isDropped) return;
    this.#isDropped = true;
    this.#owner.all.delete(this);
    const { idle } = this.destination;
    if (this.idleSince > 0) idle.splice(idle.indexOf(this), 1);
    void this.#client.destroy().catch(() => undefined);
    // The client does not know a socket that is still connecting.
    this.#socket?.destroy();
  }

  #connect(callback: buildConnector.Callback): void {
    const isTls = this.destination.target.origin.startsWith('https:');
    const socket = openSocket(this.destination);
    this.#socket = socket;
    this.answered = 0;
    this.remoteIp = undefined;
    let failure: FailureClass = 'connect';
    let isReported = false;
    socket.once('connect', () => {
      this.remoteIp = socket.remoteAddress;
      failure = 'tls';
      if (!this.#owner.guard.isDenied(this.remoteIp ?? '')) return;
      failure = 'blocked_ip';
      socket.destroy();
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
}

/** A socket that connects to one of the addresses, and looks no name up. */
function openSocket(destination: Destination): Socket {
  const { host, origin } = destination.target;
  const { port, protocol } = new URL(origin);
  const known = destination.addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_name, { all }, callback) => {
    const [first = { address: '', family: 0 }] = known;
    if (all === true) callback(null, known);
    else callback(null, first.address, first.family);
  };
  const options = { host, lookup, autoSelectFamily: true };
  if (protocol === 'http:') return connectTcp({ ...options, port: Number(port || 80) });
  const socket = connectTls({
    ...options,
    port: Number(port || 443),
    servername: isIP(host) === 0 ? host : '',
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
    ...(destination.tlsSession === undefined ? {} : { session: destination.tlsSession }),
  });
  socket.on('session', (session) => (destination.tlsSession = session));
  return socket;
}

/** The address in a connect error; of several the last that was tried. */
function refusedBy(error: unknown): string | undefined {
  const tried: unknown = error instanceof AggregateError ? error.errors.at(-1) : error;
  const address: unknown = tried instanceof Error ? Reflect.get(tried, 'address') : undefined;
  return typeof address === 'string' ? address : undefined;
}

export class Connections {
  readonly guard: AddressGuard;
  /** An idle connection is closed after this. */
  readonly idleMs: number;
  /** Those that are open, idle ones too. */
  readonly all = new Set<Connection>();
  readonly #connectionsMax: number;
  readonly #destinations = new LRUCache<string, Destination>({ max: destinationsMax });
  #releases = 0;

  constructor(guard: AddressGuard, connectionsMax: number, idleMs: number) {
    this.guard = guard;
    this.#connectionsMax = connectionsMax;
    this.idleMs = idleMs;
  }

  /** A connection for one request, to one of `addresses`: an idle one, or a new one. */
  take(target: Target, addresses: readonly string[]): Connection {
    const destination = this.#destination(target, addresses);
    const idle = destination.idle.pop();
    if (idle === undefined) return this.#add(destination);
    idle.idleSince = 0;
    return idle;
  }

  /** A new one to the same place; this one is dropped. */
  replace(connection: Connection): Connection {
    connection.drop();
    return this.#add(connection.destination);
  }

  close(): void {
    for (const connection of this.all) connection.drop();
  }

  nextRelease(): number {
    this.#releases += 1;
    return this.#releases;
  }

  #add(destination: Destination): Connection {
    if (this.all.size >= this.#connectionsMax) this.#longestIdle()?.drop();
    const connection = new Connection(this, destination);
    this.all.add(connection);
    return connection;
  }

  /** Looks at all: a few µs for 1,000, where a new connection costs ten times that. */
  #longestIdle(): Connection | undefined {
    let longest: Connection | undefined;
    for (const connection of this.all) {
      if (connection.idleSince === 0) continue;
      if (connection.idleSince < (longest?.idleSince ?? Infinity)) longest = connection;
    }
    return longest;
  }

  #destination(target: Target, addresses: readonly string[]): Destination {
    const sorted = addresses.length === 1 ? addresses[0] : addresses.toSorted().join();
    const key = `${target.origin} ${sorted}`;
    const known = this.#destinations.get(key);
    if (known === undefined) {
      const destination = { target, addresses, idle: [], tlsSession: undefined };
      this.#destinations.set(key, destination);
      return destination;
    }
    known.addresses = addresses;
    return known;
  }
}
