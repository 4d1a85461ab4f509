/**
 * Receivers that behave badly, or oddly but within HTTP's rules: what each does, and what the delivery log must say
 * of an attempt at it. They run in a process of their own (hostile-receivers-process.ts), because those that pour
 * keep it as busy as they can.
 */
import type { Socket } from 'node:net';
import type { FailureClass } from '../../src/model/webhook.ts';
import { type Behaviour, openReceiver, type ReceiverOptions } from '../support/fakes/receiver.ts';
import { type CertificateName, ok, openWild, pour, type Wildness } from './wild-receiver.ts';

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

const gigabyte = 1_073_741_824;
const raw = (bytes: string): Scripted => ({ behaviour: { kind: 'raw', bytes } });
/** Once the whole request is there. */
const wild = (act: (socket: Socket, index: number) => void): Wild => ({
  wildness: { when: 'request', act },
});
const says = (...parts: readonly string[]): Wild =>
  wild((socket) => void socket.write(parts.join('')));

const tls = (certificate: CertificateName): Wild => ({ ...says(ok), certificate });
const early = { when: 'head', act: (socket: Socket) => void socket.write(ok) } as const;
const chunkedHead = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n';

const slow: readonly HostileReceiver[] = [
  row('hangs', { behaviour: { kind: 'hang' } }, 'timeout', { isSlow: true }),
  row(
    'never ends its handshake',
    { behaviour: { kind: 'hang' }, options: { tls: 'stalled' } },
    'timeout',
    { isSlow: true },
  ),
  row(
    'never reads',
    { wildness: { when: 'open', act: (socket) => void socket.pause() } },
    'timeout',
    { isSlow: true },
  ),
  row(
    'drips its head',
    wild((socket) => {
      const timer = setInterval(() => socket.write('X'), 100);
      socket.write('HTTP/1.1 200 OK\r\n');
      socket.once('close', () => clearInterval(timer));
    }),
    'timeout',
    { isSlow: true },
  ),
];

const flooding = row(
  'answers a gigabyte',
  wild((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${gigabyte}\r\n\r\n`);
    pour(socket, 'x'.repeat(65_536));
  }),
  undefined,
  { status: 200, isExpensive: true },
);

const refusing = row(
  '503, come again in the year 9999',
  {
    behaviour: {
      kind: 'answer',
      status: 503,
      headers: { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' },
    },
  },
  'status',
  { status: 503 },
);

const breaking: readonly HostileReceiver[] = [
  row(
    'resets amid its answer',
    wild((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nhalf', () =>
        setTimeout(() => socket.resetAndDestroy(), 20),
      );
    }),
    'reset',
    { status: 200 },
  ),
  row(
    'resets when it accepts',
    { wildness: { when: 'open', act: (socket) => void socket.resetAndDestroy() } },
    'reset',
    { orElse: 'connect' },
  ),
];

const secure: readonly HostileReceiver[] = [
  row('a trusted certificate', tls('trusted'), undefined, { status: 200 }),
  row('an expired certificate', tls('expired'), 'tls'),
  row("another host's certificate", tls('other-host'), 'tls'),
  row('a certificate signed by itself', tls('certificate'), 'tls'),
  row(
    'no TLS where it should be',
    { wildness: { when: 'open', act: (socket) => void socket.end(ok) }, scheme: 'https' },
    'tls',
  ),
];

const odd: readonly HostileReceiver[] = [
  row('answers before it reads', { wildness: early }, undefined, { status: 200 }),
  row(
    'closes a moment after each answer',
    wild((socket, index) => {
      socket.write(ok);
      setTimeout(() => socket.destroy(), index % 4);
    }),
    undefined,
    { status: 200 },
  ),
  row('HTTP/1.0', raw('HTTP/1.0 200 OK\r\n\r\nok'), undefined, { status: 200 }),
  row('trailers', says(chunkedHead, '2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n'), undefined, {
    status: 200,
  }),
];

const lying: readonly HostileReceiver[] = [
  row('a status of nine', raw('HTTP/1.1 9 OK\r\n\r\n'), 'protocol'),
  row(
    'two lengths',
    raw('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok'),
    'protocol',
  ),
  row('a continue that nobody asked for', says('HTTP/1.1 100 Continue\r\n\r\n', ok), 'protocol'),
];

/** All of them. @param canary target of redirects */
export const hostileReceivers = (canary: string): readonly HostileReceiver[] => [
  ...slow,
  flooding,
  row(
    'redirects to a canary',
    { behaviour: { kind: 'redirect', to: canary, status: 307 } },
    'redirect',
    { status: 307 },
  ),
  refusing,
  ...breaking,
  ...secure,
  ...odd,
  ...lying,
];

/** Open until the process ends. @returns its URL */
export async function openHostile({ behaves }: HostileReceiver): Promise<string> {
  if ('behaviour' in behaves) {
    return (await openReceiver(behaves.behaviour, behaves.options)).url('/scripted');
  }
  const { url } = await openWild(behaves.wildness, behaves.certificate);
  return behaves.scheme === undefined ? url : url.replace(/^\w+/, behaves.scheme);
}
