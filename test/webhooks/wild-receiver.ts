/**
 * A receiver below HTTP: bytes on sockets, TLS with any certificate, for what node's own server will not do. It reads just enough of HTTP/1.1 to know where a head and a request end.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

export interface Wildness {
  /** A connection is open, a head is there, a whole request is there. */
  readonly when: 'open' | 'head' | 'request';
  /** @param index of the request from 0, over all connections */
  readonly act: (socket: Socket, index: number) => void;
}

/** Signed by `authority.pem`, but for `certificate`, which is signed by itself. */
export type CertificateName = 'trusted' | 'expired' | 'other-host' | 'certificate';

export interface WildReceiver {
  readonly url: string;
  close(): Promise<void>;
}

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

export async function openWild(
  wildness: Wildness,
  certificate?: CertificateName,
): Promise<WildReceiver> {
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
    async close() {
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
