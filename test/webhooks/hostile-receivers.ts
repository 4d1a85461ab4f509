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

const gigabyte = 1_073_741_824;
const answer = (more: object): Scripted => ({ behaviour: { kind: 'answer', ...more } });
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
const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n';

const slow: readonly HostileReceiver[] = [
  { name: 'hangs', behaves: { behaviour: { kind: 'hang' } }, failure: 'timeout', isSlow: true },
  {
    name: 'drips a byte a second',
    behaves: { behaviour: { kind: 'drip', everyMs: 1_000 } },
    failure: 'timeout',
    status: 200,
    isSlow: true,
  },
  {
    name: 'never ends its handshake',
    behaves: { behaviour: { kind: 'hang' }, options: { tls: 'stalled' } },
    failure: 'timeout',
    isSlow: true,
  },
  {
    name: 'never reads',
    behaves: { wildness: { when: 'open', act: (socket) => void socket.pause() } },
    failure: 'timeout',
    isSlow: true,
  },
  {
    name: 'drips its head',
    behaves: wild((socket) => {
      const timer = setInterval(() => socket.write('X'), 100);
      socket.write('HTTP/1.1 200 OK\r\n');
      socket.once('close', () => clearInterval(timer));
    }),
    failure: 'timeout',
    isSlow: true,
  },
];

const flooding: readonly HostileReceiver[] = [
  {
    name: 'answers a gigabyte',
    behaves: wild((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${gigabyte}\r\n\r\n`);
      pour(socket, 'x'.repeat(65_536));
    }),
    failure: undefined,
    status: 200,
    isExpensive: true,
  },
  {
    name: 'fails with a gigabyte',
    behaves: { behaviour: { kind: 'flood', status: 500 } },
    failure: 'status',
    status: 500,
    isExpensive: true,
  },
  {
    name: 'sends a head without end',
    behaves: wild((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      pour(socket, 'X-More: yes\r\n'.repeat(1_000));
    }),
    failure: 'protocol',
    isExpensive: true,
  },
  {
    name: 'sends trailers without end',
    behaves: wild((socket) => {
      socket.write(`${chunkedHead}2\r\nok\r\n0\r\n`);
      pour(socket, 'X-Sum: 1\r\n'.repeat(1_000));
    }),
    failure: 'protocol',
    status: 200,
    isExpensive: true,
  },
  {
    name: 'gives interim answers without end',
    behaves: wild((socket) => pour(socket, hints.repeat(200))),
    failure: 'protocol',
    orElse: 'timeout',
    isExpensive: true,
  },
];

const refusing: readonly HostileReceiver[] = [
  {
    name: '429, come again in an age',
    behaves: answer({ status: 429, headers: { 'retry-after': '9'.repeat(30) } }),
    failure: 'status',
    status: 429,
  },
  {
    name: '503, come again in the year 9999',
    behaves: answer({ status: 503, headers: { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' } }),
    failure: 'status',
    status: 503,
  },
  {
    name: '429, come again yesterday',
    behaves: answer({ status: 429, headers: { 'retry-after': '-86400' } }),
    failure: 'status',
    status: 429,
  },
];

const breaking: readonly HostileReceiver[] = [
  { name: 'resets', behaves: { behaviour: { kind: 'reset' } }, failure: 'reset' },
  {
    name: 'resets amid its answer',
    behaves: wild((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nhalf', () =>
        setTimeout(() => socket.resetAndDestroy(), 20),
      );
    }),
    failure: 'reset',
    status: 200,
  },
  {
    name: 'resets when it accepts',
    behaves: { wildness: { when: 'open', act: (socket) => void socket.resetAndDestroy() } },
    failure: 'reset',
    orElse: 'connect',
  },
];

const secure: readonly HostileReceiver[] = [
  { name: 'a trusted certificate', behaves: tls('trusted'), failure: undefined, status: 200 },
  { name: 'an expired certificate', behaves: tls('expired'), failure: 'tls' },
  { name: "another host's certificate", behaves: tls('other-host'), failure: 'tls' },
  { name: 'a certificate signed by itself', behaves: tls('certificate'), failure: 'tls' },
  {
    name: 'no TLS where it should be',
    behaves: { wildness: { when: 'open', act: (socket) => void socket.end(ok) }, scheme: 'https' },
    failure: 'tls',
  },
];

const odd: readonly HostileReceiver[] = [
  {
    name: 'answers before it reads',
    behaves: { wildness: early },
    failure: undefined,
    status: 200,
  },
  {
    name: 'closes behind each answer',
    behaves: wild((socket) => void socket.end(ok)),
    failure: undefined,
    status: 200,
  },
  {
    name: 'closes a moment after each answer',
    behaves: wild((socket, index) => {
      socket.write(ok);
      setTimeout(() => socket.destroy(), index % 4);
    }),
    failure: undefined,
    status: 200,
  },
  {
    name: 'HTTP/1.0',
    behaves: raw('HTTP/1.0 200 OK\r\n\r\nok'),
    failure: undefined,
    status: 200,
  },
  { name: 'early hints', behaves: says(hints, hints, ok), failure: undefined, status: 200 },
  {
    name: 'processing',
    behaves: says('HTTP/1.1 102 Processing\r\n\r\n', ok),
    failure: undefined,
    status: 200,
  },
  {
    name: 'trailers',
    behaves: says(chunkedHead, '2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n'),
    failure: undefined,
    status: 200,
  },
];

const lying: readonly HostileReceiver[] = [
  { name: 'another protocol', behaves: raw('SSH-2.0-OpenSSH_9.2\r\n'), failure: 'protocol' },
  { name: 'a status of nine', behaves: raw('HTTP/1.1 9 OK\r\n\r\n'), failure: 'protocol' },
  {
    name: 'two lengths',
    behaves: raw('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok'),
    failure: 'protocol',
  },
  {
    name: 'a continue that nobody asked for',
    behaves: says('HTTP/1.1 100 Continue\r\n\r\n', ok),
    failure: 'protocol',
  },
  {
    name: 'fails, and a success behind it that nobody asked for',
    behaves: says('HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n', ok),
    failure: 'status',
    status: 500,
  },
];

const redirecting = (canary: string): HostileReceiver => ({
  name: 'redirects to a canary',
  behaves: { behaviour: { kind: 'redirect', to: canary, status: 307 } },
  failure: 'redirect',
  status: 307,
});

/** All of them. @param canary target of redirects */
export const hostileReceivers = (canary: string): readonly HostileReceiver[] => [
  ...slow,
  ...flooding,
  redirecting(canary),
  ...refusing,
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
