/** The real sender of attempts in the test's own thread, tasks for it, and a name server that it asks. */
import { onTestFinished } from 'vitest';
import { isIPv4 } from 'node:net';
import dns2 from 'dns2';
import type { AttemptTask } from '../../../src/model/webhook.ts';
import type { Clock } from '../../../src/model/clock.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';
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

/** The addresses of a name, of both families; `silent` lets the question time out. */
type Answer = readonly string[] | 'silent';

/** A real DNS server on loopback that answers as scripted: honestly, in turns, or never. */
export async function openNameServer(answer: (name: string) => Answer) {
  const { Packet } = dns2;
  const questions: string[] = [];
  const server = dns2.createServer({
    udp: true,
    handle: (request, send) => {
      const response = Packet.createResponseFromRequest(request);
      for (const question of request.questions) {
        questions.push(question.name);
        const found = answer(question.name);
        if (found === 'silent') return;
        for (const address of found) {
          const type = isIPv4(address) ? Packet.TYPE.A : Packet.TYPE.AAAA;
          if (type !== question.type) continue;
          const record = { type, class: Packet.CLASS.IN, ttl: 0, address };
          response.answers.push(Packet.createResourceFromQuestion(question, record));
        }
      }
      void send(response);
    },
  });
  const { udp } = await server.listen({ udp: { port: 0, address: '127.0.0.1' } });
  const port = typeof udp === 'object' ? udp.port : 0;
  return {
    /** As c-ares takes it. */
    address: `127.0.0.1:${port}`,
    /** Names asked for, once per record type. */
    questions,
    close: () => server.close(),
  };
}
