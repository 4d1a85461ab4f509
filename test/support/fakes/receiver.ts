/**
 * A real webhook receiver on a free loopback port: it keeps every request to the byte and behaves as
 * scripted, well or badly.
 *
 *     const receiver = await openReceiver({ kind: 'answer', status: 503, headers: { 'retry-after': '7' } });
 *     ... send to receiver.url('/hook') ...
 *     await receiver.arrived(3);          the first three requests
 *     receiver.behave(healthy);           from now on
 *     await receiver.close();             closes hanging connections too
 *
 * A canary is a receiver whose `connections` must stay 0: it counts sockets, not requests.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export type Behaviour =
  /** A whole answer; 200 and `ok` unless told otherwise. */
  | {
      readonly kind: 'answer';
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Uint8Array;
      /** Waits before it answers. */
      readonly delayMs?: number;
      /** Answers once this resolves. */
      readonly after?: Promise<unknown>;
    }
  /** Takes the request and never answers. */
  | { readonly kind: 'hang' }
  /** 200 at once, then a byte every `everyMs`, without end. */
  | { readonly kind: 'drip'; readonly everyMs: number }
  /** `status`, then as many bytes as the connection takes, without end. */
  | { readonly kind: 'flood'; readonly status?: number }
  | { readonly kind: 'redirect'; readonly to: string; readonly status?: number }
  /** Resets the connection after the request. */
  | { readonly kind: 'reset' }
  /** Bytes on the socket as they are, then the end of it. */
  | { readonly kind: 'raw'; readonly bytes: string }
  /** Bytes on the socket as they are, then silence. */
  | { readonly kind: 'begin'; readonly bytes: string };

/** The same for all, or chosen by the request and its number from 0. */
export type Script = Behaviour | ((request: ReceivedRequest, index: number) => Behaviour);

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Name, value, name, value, as they came. */
  readonly rawHeaders: readonly string[];
  /** The exact bytes. */
  readonly body: Buffer;
  /** When its head had come: milliseconds since the Unix epoch, with a fraction. */
  readonly atMs: number;
}

export interface ReceiverOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: a free one. */
  readonly port?: number;
  /**
   * `self_signed`: TLS with the certificate of `receiverCertificate`;
   * `stalled`: takes connections and says nothing, so no handshake ever ends.
   */
  readonly tls?: 'self_signed' | 'stalled';
}

export const healthy: Behaviour = { kind: 'answer' };

const fixture = (name: string): string =>
  readFileSync(new URL(`../../fixtures/receiver-tls/${name}`, import.meta.url), 'utf8');
/** For localhost, receiver.test, 127.0.0.1 and ::1; signed by itself, trusted by nobody. */
const receiverCertificate = fixture('certificate.pem');

const floodChunk = Buffer.alloc(65_536, 'x');

export class Receiver {
  readonly requests: ReceivedRequest[] = [];
  readonly #server: Server | TcpServer;
  readonly #scheme: string;
  readonly #host: string;
  readonly #sockets = new Set<Socket>();
  #script: Script;
  #connections = 0;

  constructor(script: Script, { host = '127.0.0.1', tls }: ReceiverOptions) {
    this.#script = script;
    this.#host = host.includes(':') ? `[${host}]` : host;
    this.#scheme = tls === undefined ? 'http' : 'https';
    const take = (request: IncomingMessage, response: ServerResponse) =>
      this.#take(request, response);
    if (tls === 'stalled') this.#server = createTcpServer((socket) => void socket.resume());
    else if (tls === undefined) this.#server = createServer(take);
    else
      this.#server = createTlsServer({ key: fixture('key.pem'), cert: receiverCertificate }, take);
    this.#server.on('connection', (socket: Socket) => {
      this.#connections += 1;
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    // A client that will not trust the certificate ends the handshake; that is the test's business.
    this.#server.on('tlsClientError', () => undefined);
  }

  async listen(host: string, port: number): Promise<this> {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    return this;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  get origin(): string {
    return `${this.#scheme}://${this.#host}:${this.port}`;
  }

  /** Sockets accepted since it was opened, requests or not. */
  get connections(): number {
    return this.#connections;
  }

  /** Sockets open now. */
  get open(): number {
    return this.#sockets.size;
  }

  url(path = '/hook'): string {
    return `${this.origin}${path}`;
  }

  behave(script: Script): void {
    this.#script = script;
  }

  /** Waits until `count` requests have come, then gives them all. @throws when they do not come */
  async arrived(count: number, withinMs = 30_000): Promise<readonly ReceivedRequest[]> {
    const deadlineMs = performance.now() + withinMs;
    while (this.requests.length < count) {
      if (performance.now() > deadlineMs) {
        const text = `Cannot wait longer: ${this.requests.length} requests in ${withinMs} ms`;
        throw new Error(`${text}, expected ${count}`);
      }
      await pause(2);
    }
    return this.requests;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const atMs = performance.timeOrigin + performance.now();
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    request.on('end', () => {
      const { method = '', url = '', headers, rawHeaders } = request;
      const body = Buffer.concat(chunks);
      const received = { method, path: url, headers, rawHeaders, body, atMs };
      const index = this.requests.push(received) - 1;
      const script = this.#script;
      this.#answer(typeof script === 'function' ? script(received, index) : script, response);
    });
  }

  #answer(behaviour: Behaviour, response: ServerResponse): void {
    switch (behaviour.kind) {
      case 'answer': {
        const { status = 200, headers = {}, body = 'ok', delayMs = 0, after } = behaviour;
        const answer = (): void => void response.writeHead(status, headers).end(body);
        if (after !== undefined) void after.then(answer);
        else if (delayMs === 0) answer();
        else later(delayMs, answer);
        return;
      }
      case 'hang':
        return;
      case 'drip':
        response.writeHead(200);
        return drip(response, behaviour.everyMs);
      case 'flood':
        response.writeHead(behaviour.status ?? 200);
        return flood(response);
      case 'redirect':
        response.writeHead(behaviour.status ?? 302, { location: behaviour.to }).end();
        return;
      case 'reset':
        response.socket?.resetAndDestroy();
        return;
      case 'raw':
        response.socket?.end(behaviour.bytes);
        return;
      default:
        response.socket?.write(behaviour.bytes);
    }
  }
}

/** Writes a byte and then another one, until the socket is gone. */
function drip(response: ServerResponse, everyMs: number): void {
  if (response.destroyed) return;
  response.write('.');
  later(everyMs, () => drip(response, everyMs));
}

/** Keeps no process alive, whose receiver may be closed by then. */
const later = (waitMs: number, work: () => void): void => void setTimeout(work, waitMs).unref();

/** Writes whenever the socket takes more, until it is gone. */
function flood(response: ServerResponse): void {
  while (!response.destroyed && response.write(floodChunk));
  if (!response.destroyed) response.once('drain', () => flood(response));
}

/** Opens a receiver that listens when the promise resolves. */
export async function openReceiver(script: Script = healthy, options: ReceiverOptions = {}) {
  const receiver = new Receiver(script, options);
  return await receiver.listen(options.host ?? '127.0.0.1', options.port ?? 0);
}
