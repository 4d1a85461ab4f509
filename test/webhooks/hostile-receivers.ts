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
  slow(
    'never reads',
    on('open', (socket) => void socket.pause()),
  ),
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
  row(
    'resets when it accepts',
    on('open', (socket) => void socket.resetAndDestroy()),
    'reset',
    {
      orElse: 'connect',
    },
  ),
  well('a trusted certificate', tls('trusted')),
  row('an expired certificate', tls('expired'), 'tls'),
  row("another host's certificate", tls('other-host'), 'tls'),
  row('a certificate signed by itself', tls('certificate'), 'tls'),
  row(
    'no TLS where it should be',
    { ...on('open', (socket) => void socket.end(ok)), scheme: 'https' },
    'tls',
  ),
  well(
    'answers before it reads',
    on('head', (socket) => void socket.write(ok)),
  ),
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
