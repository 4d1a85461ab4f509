/**
 * A thread's kept-alive HTTP/1.1 connections to receivers: undici's client, one per socket.
 *
 *   take(target, addresses) -> one request -> release(): idle, newest taken first, closed after 4 s, or drop()
 *
 * - The name is never looked up here. The socket gets the checked addresses, tries them in turn (RFC 8305), and the one
 *   it took is checked again before a byte is sent. If the name resolves to others, new connections are opened.
 * - A connection carries one request at a time, so a receiver that hangs delays no other request, and `drop` ends
 *   exactly one attempt. Connecting has no time limit: the caller drops the connection at its deadline.
 * - Open connections <= max(connectionsMax, running requests): above it the longest idle one closes first.
 * - Certificates are verified whatever NODE_TLS_REJECT_UNAUTHORIZED says; NODE_EXTRA_CA_CERTS adds authorities.
 * - undici's `Pool` does not report which socket serves a request, and closes no idle connection of another origin.
 */
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import type { FailureClass } from '../../model/webhook.ts';
import { type AddressGuard, Refusal, type Target } from './egress.ts';

const headerBytesMax = 16_384;
/** Cached destinations, about 3 KB each with a TLS session; connections of an evicted one idle out. */
const destinationsMax = 4_096;
/** Faults of this process, not of the receiver. */
const ownFaults: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

interface Destination {
  readonly target: Target;
  /** In the name server's latest order. */
  addresses: readonly string[];
  readonly idle: Connection[];
  tlsSession: Buffer | undefined;
}

export class Connection {
  readonly destination: Destination;
  /** The connected address, or the one that refused; undefined until known. */
  remoteIp: string | undefined;
  /** Requests answered on this socket: above 0 the receiver may be closing it right now. */
  answered = 0;
  /** Its number in the order of releases; 0 while it carries a request. */
  releaseNo = 0;
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
      // The caller has one deadline for the attempt; undici's two restart with every chunk.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    // A client without its socket is useless: drop an idle one.
    this.#client.on('disconnect', () => {
      if (this.releaseNo > 0) this.drop();
    });
  }

  send(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(request, handler);
  }

  release(): void {
    this.answered += 1;
    if (this.#isDropped) return;
    this.releaseNo = this.#owner.nextRelease();
    this.destination.idle.push(this);
  }

  /** Closes the connection and aborts its request; idempotent. */
  drop(): void {
    if (this.#isDropped) return;
    this.#isDropped = true;
    this.#owner.all.delete(this);
    const { idle } = this.destination;
    if (this.releaseNo > 0) idle.splice(idle.indexOf(this), 1);
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

/** The address in a connect error; the last one tried. */
function refusedBy(error: unknown): string | undefined {
  const tried: unknown = error instanceof AggregateError ? error.errors.at(-1) : error;
  const address: unknown = tried instanceof Error ? Reflect.get(tried, 'address') : undefined;
  return typeof address === 'string' ? address : undefined;
}

export class Connections {
  readonly guard: AddressGuard;
  readonly idleMs: number;
  readonly all = new Set<Connection>();
  readonly #connectionsMax: number;
  readonly #destinations = new LRUCache<string, Destination>({ max: destinationsMax });
  #releases = 0;

  constructor(guard: AddressGuard, connectionsMax: number, idleMs: number) {
    this.guard = guard;
    this.#connectionsMax = connectionsMax;
    this.idleMs = idleMs;
  }

  take(target: Target, addresses: readonly string[]): Connection {
    const destination = this.#destination(target, addresses);
    const idle = destination.idle.pop();
    if (idle === undefined) return this.#add(destination);
    idle.releaseNo = 0;
    return idle;
  }

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

  /** Scans all: a few µs for 1,000, a tenth of the cost of a new connection. */
  #longestIdle(): Connection | undefined {
    let longest: Connection | undefined;
    for (const connection of this.all) {
      if (connection.releaseNo === 0) continue;
      if (connection.releaseNo < (longest?.releaseNo ?? Infinity)) longest = connection;
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
