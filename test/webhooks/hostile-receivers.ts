/**
 * Receivers that behave badly, or oddly but within HTTP's rules: what each does, and what the delivery log must say
 * of an attempt at it. They run in a process of their own (hostile-receivers-process.ts), because those that pour
 * keep it as busy as they can. Wild ones are below HTTP: bytes on sockets, TLS with any certificate, for what node's own
 * server will not do; they read just enough of HTTP/1.1 to know where a head and a request end.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { FailureClass } from '../../src/model/webhook.ts';
import { type Behaviour, openReceiver, type ReceiverOptions } from '../support/fakes/receiver.ts';

interface Wildness {
  /** A connection is open, a head is there, a whole request is there. */
  readonly when: 'open' | 'head' | 'request';
  /** @param index of the request from 0, over all connections */
  readonly act: (socket: Socket, index: number) => void;
}

/** Signed by `authority.pem`, but for `certificate`, which is signed by itself. */
type CertificateName = 'trusted' | 'expired' | 'other-host' | 'certificate';

const headEnd = Buffer.from('\r\n\r\n');
const tlsFolder = new URL('../fixtures/receiver-tls/', import.meta.url);
/** What a service must trust to trust `trusted`: a path, as NODE_EXTRA_CA_CERTS takes it. */
export const authorityFile = new URL('authority.pem', tlsFolder).pathname;

export const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** Writes `chunk` whenever the socket takes more, until it is closed. */
export function pour(socket: Socket, chunk: string): void {
  if (socket.destroyed || !socket.writable) return;
  if (socket.write(chunk)) setImmediate(() => pour(socket, chunk));
  else socket.once('drain', () => pour(socket, chunk));
}

export async function openWild(wildness: Wildness, certificate?: CertificateName) {
  const sockets = new Set<Socket>();
  let requests = 0;
  const take = (socket: Socket): void => {
    if (wildness.when === 'open') wildness.act(socket, 0);
    let bytes = Buffer.alloc(0);
    let index = -1;
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf(headEnd);
      if (end === -1) return;
      if (index === -1) {
        index = requests++;
        if (wildness.when === 'head') wildness.act(socket, index);
      }
      const length = Number(/^content-length: (\d+)/im.exec(bytes.toString('latin1'))?.[1] ?? 0);
      if (bytes.length < end + headEnd.length + length) return;
      bytes = bytes.subarray(end + headEnd.length + length);
      if (wildness.when === 'request') wildness.act(socket, index);
      index = -1;
    });
  };
  const server = certificate === undefined ? createServer(take) : secureServer(certificate, take);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}/wild`,
    async close(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function secureServer(certificate: CertificateName, take: (socket: Socket) => void): Server {
  const read = (name: string): string => readFileSync(new URL(name, tlsFolder), 'utf8');
  const server = createTlsServer({ key: read('key.pem'), cert: read(`${certificate}.pem`) }, take);
  // A client that does not trust the certificate ends the handshake; the test checks that.
  server.on('tlsClientError', () => undefined);
  server.on('secureConnection', (socket) => socket.on('error', () => undefined));
  return server;
}

interface Scripted {
  readonly behaviour: Behaviour;
  readonly options?: ReceiverOptions;
}

interface Wild {
  readonly wildness: Wildness;
  readonly certificate?: CertificateName;
  /** The scheme of its URL, where it speaks the other one. */
  readonly scheme?: 'http' | 'https';
}

export interface HostileReceiver {
  readonly name: string;
  readonly behaves: Scripted | Wild;
  /** `undefined` is a success. */
  readonly failure: FailureClass | undefined;
  /** Depending on how the bytes arrive, it may be this one as well. */
  readonly orElse?: FailureClass;
  /** The status that the log shows. */
  readonly status?: number;
  /** Each attempt takes until its deadline. */
  readonly isSlow?: true;
  /** Each attempt costs the sender tens of milliseconds: it gets only a few. */
  readonly isExpensive?: true;
}

const row = (
  name: string,
  behaves: Scripted | Wild,
  failure: FailureClass | undefined,
  more: Partial<HostileReceiver> = {},
): HostileReceiver => ({ name, behaves, failure, ...more });
const slow = (name: string, behaves: Scripted | Wild): HostileReceiver =>
  row(name, behaves, 'timeout', { isSlow: true });
const well = (name: string, behaves: Scripted | Wild): HostileReceiver =>
  row(name, behaves, undefined, { status: 200 });

const on = (when: Wildness['when'], act: Wildness['act']): Wild => ({ wildness: { when, act } });
const does = (behaviour: Behaviour, options?: ReceiverOptions): Scripted =>
  options === undefined ? { behaviour } : { behaviour, options };
const says = (...parts: readonly string[]): Wild =>
  on('request', (socket) => void socket.write(parts.join('')));
const tls = (certificate: CertificateName): Wild => ({ ...says(ok), certificate });

const pause = (socket: Socket): void => void socket.pause();
const reset = (socket: Socket): void => void socket.resetAndDestroy();
const answer = (socket: Socket): void => void socket.write(ok);
const end = (socket: Socket): void => void socket.end(ok);

const gigabyte = 1_073_741_824;
const inTheYear9999 = { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' };

function flood(socket: Socket): void {
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${gigabyte}\r\n\r\n`);
  pour(socket, 'x'.repeat(65_536));
}

function closeAfter(socket: Socket, index: number): void {
  socket.write(ok);
  setTimeout(() => socket.destroy(), index % 4);
}

/** All of them. @param canary target of redirects */
export const hostileReceivers = (canary: string): readonly HostileReceiver[] => [
  slow('hangs', does({ kind: 'hang' })),
  slow('never ends its handshake', does({ kind: 'hang' }, { tls: 'stalled' })),
  slow('never reads', on('open', pause)),
  { ...well('answers a gigabyte', on('request', flood)), isExpensive: true },
  row('redirects to a canary', does({ kind: 'redirect', to: canary, status: 307 }), 'redirect', {
    status: 307,
  }),
  row(
    '503, come again in the year 9999',
    does({ kind: 'answer', status: 503, headers: inTheYear9999 }),
    'status',
    { status: 503 },
  ),
  row('resets when it accepts', on('open', reset), 'reset', { orElse: 'connect' }),
  well('a trusted certificate', tls('trusted')),
  row('an expired certificate', tls('expired'), 'tls'),
  row("another host's certificate", tls('other-host'), 'tls'),
  row('a certificate signed by itself', tls('certificate'), 'tls'),
  row('no TLS where it should be', { ...on('open', end), scheme: 'https' }, 'tls'),
  well('answers before it reads', on('head', answer)),
  well('closes a moment after each answer', on('request', closeAfter)),
  row('a continue that nobody asked for', says('HTTP/1.1 100 Continue\r\n\r\n', ok), 'protocol'),
];

/** Open until the process ends. @returns its URL */
export async function openHostile({ behaves }: HostileReceiver): Promise<string> {
  if ('behaviour' in behaves) {
    return (await openReceiver(behaves.behaviour, behaves.options)).url('/scripted');
  }
  const { url } = await openWild(behaves.wildness, behaves.certificate);
  return behaves.scheme === undefined ? url : url.replace(/^\w+/, behaves.scheme);
}
