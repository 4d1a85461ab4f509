/** The real sender of attempts in the test's own thread, and tasks for it. */
import { onTestFinished } from 'vitest';
import type { AttemptTask } from '../../../src/model/webhook.ts';
import type { Clock } from '../../../src/model/clock.ts';
import { systemClock } from '../../../src/system-clock.ts';
import { Attempts } from '../../../src/webhooks/attempt/attempt.ts';
import { openNameLookup } from '../../../src/webhooks/attempt/name-lookup.ts';
import { openReceiver, type Receiver, type Script } from '../../support/fakes/receiver.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

export interface SenderOptions {
  readonly timeoutMs?: number;
  readonly allowNetworks?: readonly string[];
  /** `address:port` of name servers. */
  readonly servers?: readonly string[];
  readonly clock?: Clock;
}

/** Open until the test ends; loopback is allowed unless told otherwise. */
export function openSender(options: SenderOptions = {}): Attempts {
  const { timeoutMs = 30_000, allowNetworks = ['127.0.0.0/8'], clock = systemClock } = options;
  const attempts = new Attempts({
    settings: { timeoutMs, allowNetworks, docsUrl: 'https://example.com/docs/webhooks' },
    clock,
    names: openNameLookup({
      clock,
      hostsFile: '/nonexistent',
      ...(options.servers === undefined ? {} : { servers: options.servers }),
    }),
  });
  onTestFinished(() => attempts.close());
  return attempts;
}

/** A receiver that is closed when the test ends. */
export async function openTestReceiver(
  script?: Script,
  options?: Parameters<typeof openReceiver>[1],
): Promise<Receiver> {
  const receiver = await openReceiver(script, options);
  onTestFinished(() => receiver.close());
  return receiver;
}

let count = 0;
export function taskFor(url: string, more: Partial<AttemptTask> = {}): AttemptTask {
  count += 1;
  return {
    deliveryId: `dlv_${String(count).padStart(20, '0')}`,
    endpointNo: undefined,
    eventId: `evt_${String(count).padStart(20, '0')}`,
    kind: 'qr.created',
    attempt: 1,
    url,
    body: JSON.stringify({ id: `evt_${count}`, data: { name: 'Łódź' } }),
    secrets: [secret],
    ...more,
  };
}
