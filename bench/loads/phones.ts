/**
 * Phones that scan once: a connection for each request, from another address each time, closed after its answer by
 * the phone, or by the server where the request says `Connection: close`. Over TLS each makes a whole handshake, as a
 * phone does that was never here: no session of another connection is offered.
 *
 * It needs more CPU for a connection than the servers do, so its rate is its own: read the servers' CPU.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext } from 'node:tls';
import { systemClock } from '../../src/platform/system-clock.ts';
import { quantile } from '../report.ts';
import type { Generator, LoadResult, LoadSpec } from './load.ts';
import { requestBytes } from './requests.ts';

export interface PhoneKind {
  readonly transport: 'plain' | 'tls';
  readonly closing: 'by the phone' | 'by the server';
}

const headEnd = '\r\n\r\n';
const closeLine = '\r\nconnection: close';
/** Each has as many ports as the kernel gives out: a closed connection keeps its port for a minute. */
const sources = Array.from({ length: 4_000 }, (_, index) => {
  const low = 1 + (index % 250);
  return `127.0.${1 + Math.floor(index / 250)}.${low}`;
});
let nextSource = 0;

/** An answer that is not there by then counts as failed. */
const answerMsMax = 10_000;

export function phones({ transport, closing }: PhoneKind): Generator {
  const secureContext = transport === 'tls' ? createSecureContext() : undefined;
  const open = (port: number): Socket => {
    const localAddress = sources[nextSource++ % sources.length]!;
    const place = { port, host: '127.0.0.1', localAddress, noDelay: true };
    return secureContext === undefined
      ? connect(place)
      : connectTls({ ...place, secureContext, rejectUnauthorized: false });
  };
  const run = async (spec: LoadSpec): Promise<LoadResult> => {
    const texts = spec.requests.map((request) => {
      const text = requestBytes(spec.method, request);
      return closing === 'by the server' ? text.replace(headEnd, closeLine + headEnd) : text;
    });
    const latenciesMs: number[] = [];
    let [sent, failed] = [0, 0];
    const startedMs = systemClock.monotonicMs();
    const endMs = startedMs + spec.seconds * 1e3;
    const oneByOne = async (): Promise<void> => {
      while (systemClock.monotonicMs() < endMs) {
        const scanMs = systemClock.monotonicMs();
        const isRight = await scan(open(spec.port), texts[sent++ % texts.length]!, closing);
        if (isRight) latenciesMs.push(systemClock.monotonicMs() - scanMs);
        else failed++;
      }
    };
    await Promise.all(Array.from({ length: spec.connections }, oneByOne));
    return {
      requests: latenciesMs.length,
      seconds: (systemClock.monotonicMs() - startedMs) / 1e3,
      failed,
      p50Ms: quantile(latenciesMs, 0.5),
      p99Ms: quantile(latenciesMs, 0.99),
    };
  };
  return { name: `${transport}, closed ${closing}`, run };
}

/** Resolves when the connection is closed, with whether its answer was a redirect. */
function scan(socket: Socket, request: string, closing: PhoneKind['closing']): Promise<boolean> {
  return new Promise((resolve) => {
    let text = '';
    socket.setEncoding('latin1').setTimeout(answerMsMax, () => socket.destroy());
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (closing === 'by the phone' && isWhole(text, request)) socket.destroy();
    });
    socket.once('error', () => undefined);
    socket.once('close', () => {
      resolve(text.startsWith('HTTP/1.1 302') && isWhole(text, request));
    });
    socket.write(request);
  });
}

function isWhole(text: string, request: string): boolean {
  const end = text.indexOf(headEnd);
  if (end < 0) return false;
  if (request.startsWith('HEAD')) return true;
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0);
  return text.length === end + headEnd.length + length;
}
