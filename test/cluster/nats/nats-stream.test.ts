/** New streams at brokers that have just started. */
import { JetStreamApiError } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import type { NatsConnection } from '../../../src/cluster/nats/nats-connection.ts';
import { ensureStreamSoon } from '../../../src/cluster/nats/nats-stream.ts';

const noPeers = new JetStreamApiError({
  code: 400,
  err_code: 10_005,
  description: 'no suitable peers for placement, peer offline',
});
const noSpace = new JetStreamApiError({
  code: 503,
  err_code: 10_047,
  description: 'insufficient storage resources available',
});

/** Each try to make a stream fails with the next of these; then one succeeds. */
async function triesOf(faults: readonly Error[]): Promise<number> {
  let tries = 0;
  const streams = {
    info: () => Promise.resolve({ config: undefined }),
    add: (config: unknown) => {
      const fault = faults[tries];
      tries += 1;
      return fault === undefined ? Promise.resolve({ config }) : Promise.reject(fault);
    },
  };
  const connection: Pick<NatsConnection, 'ready'> = {
    ready: () => Promise.resolve({ manager: { streams } } as never),
  };
  const options = { stream: 'CORE', subject: 'qz.core', replicas: 3 };
  await ensureStreamSoon(connection as NatsConnection, options, 0);
  return tries;
}

test('what passes by itself is tried again', async () => {
  expect(await triesOf([])).toBe(1);
  expect(await triesOf([noPeers, noPeers, new TimeoutError()])).toBe(4);
});

test('what does not pass is said', async () => {
  await expect(triesOf([noSpace])).rejects.toThrow(
    'Cannot make the stream CORE: insufficient storage resources available',
  );
  await expect(triesOf(Array.from({ length: 10 }, () => noPeers))).rejects.toThrow(
    'Cannot make the stream CORE: no suitable peers for placement, peer offline',
  );
});
