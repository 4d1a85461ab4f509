/**
 * Receivers that behave badly, or oddly and within HTTP's rules: what each does, and what the delivery log is
 * to say of an attempt at it. They live in a process of their own (zoo-process.ts), for those that pour keep
 * it as busy as they can.
 */
import type { Socket } from 'node:net';
import type { FailureClass } from '../../src/model/webhook.ts';
import { type Behaviour, openReceiver, type ReceiverOptions } from '../support/receiver.ts';
import { type CertificateName, ok, openWild, pour, type Wildness } from './wild-receiver.ts';

interface Tame {
  readonly behaviour: Behaviour;
  readonly options?: ReceiverOptions;
}

interface Wild {
  readonly wildness: Wildness;
  readonly certificate?: CertificateName;
  /** It speaks TLS and is called without, or the other way about. */
  readonly scheme?: 'http' | 'https';
}

export interface Species {
  readonly name: string;
  readonly keep: Tame | Wild;
  /** `undefined` is a success. */
  readonly failure: FailureClass | undefined;
  /** As the bytes arrive, it may be this one as well. */
  readonly orElse?: FailureClass;
  /** The status that the log shows. */
  readonly status?: number;
  /** Each attempt takes until its deadline. */
  readonly isSlow?: true;
  /** Each attempt costs the sender tens of milliseconds: a busy machine stands only a few. */
  readonly isDear?: true;
}

const gigabyte = 1_073_741_824;
const answer = (more: object): Tame => ({ behaviour: { kind: 'answer', ...more } });
const raw = (bytes: string): Tame => ({ behaviour: { kind: 'raw', bytes } });
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

const slow: readonly Species[] = [
  { name: 'hangs', keep: { behaviour: { kind: 'hang' } }, failure: 'timeout', isSlow: true },
  {
    name: 'drips a byte a second',
    keep: { behaviour: { kind: 'drip', everyMs: 1_000 } },
    failure: 'timeout',
    status: 200,
    isSlow: true,
  },
  {
    name: 'never ends its handshake',
    keep: { behaviour: { kind: 'hang' }, options: { tls: 'stalled' } },
    failure: 'timeout',
    isSlow: true,
  },
  {
    name: 'never reads',
    keep: { wildness: { when: 'open', act: (socket) => void socket.pause() } },
    failure: 'timeout',
    isSlow: true,
  },
  {
    name: 'drips its head',
    keep: wild((socket) => {
      const timer = setInterval(() => socket.write('X'), 100);
      socket.write('HTTP/1.1 200 OK\r\n');
      socket.once('close', () => clearInterval(timer));
    }),
    failure: 'timeout',
    isSlow: true,
  },
];

const immoderate: readonly Species[] = [
  {
    name: 'answers a gigabyte',
    keep: wild((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${gigabyte}\r\n\r\n`);
      pour(socket, 'x'.repeat(65_536));
    }),
    failure: undefined,
    status: 200,
    isDear: true,
  },
  {
    name: 'fails with a gigabyte',
    keep: { behaviour: { kind: 'flood', status: 500 } },
    failure: 'status',
    status: 500,
    isDear: true,
  },
  {
    name: 'sends a head without end',
    keep: wild((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      pour(socket, 'X-More: yes\r\n'.repeat(1_000));
    }),
    failure: 'protocol',
    isDear: true,
  },
  {
    name: 'sends trailers without end',
    keep: wild((socket) => {
      socket.write(`${chunkedHead}2\r\nok\r\n0\r\n`);
      pour(socket, 'X-Sum: 1\r\n'.repeat(1_000));
    }),
    failure: 'protocol',
    status: 200,
    isDear: true,
  },
  {
    name: 'gives interim answers without end',
    keep: wild((socket) => pour(socket, hints.repeat(200))),
    failure: 'protocol',
    orElse: 'timeout',
    isDear: true,
  },
];

const refusing: readonly Species[] = [
  {
    name: '429, come again in an age',
    keep: answer({ status: 429, headers: { 'retry-after': '9'.repeat(30) } }),
    failure: 'status',
    status: 429,
  },
  {
    name: '503, come again in the year 9999',
    keep: answer({ status: 503, headers: { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' } }),
    failure: 'status',
    status: 503,
  },
  {
    name: '429, come again yesterday',
    keep: answer({ status: 429, headers: { 'retry-after': '-86400' } }),
    failure: 'status',
    status: 429,
  },
];

const breaking: readonly Species[] = [
  { name: 'resets', keep: { behaviour: { kind: 'reset' } }, failure: 'reset' },
  {
    name: 'resets amid its answer',
    keep: wild((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nhalf', () =>
        setTimeout(() => socket.resetAndDestroy(), 20),
      );
    }),
    failure: 'reset',
    status: 200,
  },
  {
    name: 'resets at the door',
    keep: { wildness: { when: 'open', act: (socket) => void socket.resetAndDestroy() } },
    failure: 'reset',
    orElse: 'connect',
  },
];

const secure: readonly Species[] = [
  { name: 'a trusted certificate', keep: tls('trusted'), failure: undefined, status: 200 },
  { name: 'an expired certificate', keep: tls('expired'), failure: 'tls' },
  { name: "another host's certificate", keep: tls('other-host'), failure: 'tls' },
  { name: 'a certificate signed by itself', keep: tls('certificate'), failure: 'tls' },
  {
    name: 'no TLS where it should be',
    keep: { wildness: { when: 'open', act: (socket) => void socket.end(ok) }, scheme: 'https' },
    failure: 'tls',
  },
];

const odd: readonly Species[] = [
  { name: 'answers before it reads', keep: { wildness: early }, failure: undefined, status: 200 },
  {
    name: 'closes behind each answer',
    keep: wild((socket) => void socket.end(ok)),
    failure: undefined,
    status: 200,
  },
  {
    name: 'closes a moment after each answer',
    keep: wild((socket, index) => {
      socket.write(ok);
      setTimeout(() => socket.destroy(), index % 4);
    }),
    failure: undefined,
    status: 200,
  },
  {
    name: 'HTTP/1.0',
    keep: raw('HTTP/1.0 200 OK\r\n\r\nok'),
    failure: undefined,
    status: 200,
  },
  { name: 'early hints', keep: says(hints, hints, ok), failure: undefined, status: 200 },
  {
    name: 'processing',
    keep: says('HTTP/1.1 102 Processing\r\n\r\n', ok),
    failure: undefined,
    status: 200,
  },
  {
    name: 'trailers',
    keep: says(chunkedHead, '2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n'),
    failure: undefined,
    status: 200,
  },
];

const lying: readonly Species[] = [
  { name: 'another protocol', keep: raw('SSH-2.0-OpenSSH_9.2\r\n'), failure: 'protocol' },
  { name: 'a status of nine', keep: raw('HTTP/1.1 9 OK\r\n\r\n'), failure: 'protocol' },
  {
    name: 'two lengths',
    keep: raw('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok'),
    failure: 'protocol',
  },
  {
    name: 'a continue that nobody asked for',
    keep: says('HTTP/1.1 100 Continue\r\n\r\n', ok),
    failure: 'protocol',
  },
  {
    name: 'fails, and a success behind it that nobody asked for',
    keep: says('HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n', ok),
    failure: 'status',
    status: 500,
  },
];

const redirecting = (canary: string): Species => ({
  name: 'redirects to a canary',
  keep: { behaviour: { kind: 'redirect', to: canary, status: 307 } },
  failure: 'redirect',
  status: 307,
});

/** All of them. @param canary where redirects lead */
export const species = (canary: string): readonly Species[] => [
  ...slow,
  ...immoderate,
  redirecting(canary),
  ...refusing,
  ...breaking,
  ...secure,
  ...odd,
  ...lying,
];

/** Open until the process ends. @returns where it is called */
export async function cage({ keep }: Species): Promise<string> {
  if ('behaviour' in keep) {
    return (await openReceiver(keep.behaviour, keep.options)).url('/tame');
  }
  const { url } = await openWild(keep.wildness, keep.certificate);
  return keep.scheme === undefined ? url : url.replace(/^\w+/, keep.scheme);
}
