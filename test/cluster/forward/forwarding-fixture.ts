/** A standby's port on a socket, before a leader of a test's choice. */
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { onTestFinished } from 'vitest';
import {
  ForwardingHandler,
  type ForwardingOptions,
} from '../../../src/cluster/forward/forwarding.ts';
import { MachineProof } from '../../../src/cluster/machine-proof.ts';
import { ClientAddresses } from '../../../src/platform/uws/client-address.ts';
import type { Handler } from '../../../src/platform/uws/request.ts';
import { HttpServer, type HttpServerOptions } from '../../../src/api/server/server.ts';
import type { Clock } from '../../../src/model/clock.ts';
import { createLog } from '../../../src/platform/log.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';

export const timeouts = {
  connectMs: 2_000,
  headMs: 20_000,
  silenceMs: 20_000,
  idleMs: 1_000,
  changedMs: 300,
};

/** What was thrown where nothing may throw: a test takes out what it expects. */
export const defects: unknown[] = [];

/** Of the cluster that all tests are in. */
export const proofBy = (clock: Clock): MachineProof => new MachineProof(Buffer.alloc(32, 7), clock);

export async function listen(
  handler: Handler,
  options: Partial<HttpServerOptions> = {},
): Promise<HttpServer> {
  const server = await HttpServer.open({
    host: '127.0.0.1',
    port: 0,
    addresses: new ClientAddresses([]),
    newRequestId: () => 'req_1',
    handler,
    onDefect: (error) => defects.push(error),
    ...options,
  });
  onTestFinished(() => server.close());
  return server;
}

export interface Standby {
  readonly handler: ForwardingHandler;
  readonly server: HttpServer;
  readonly url: string;
  readonly clock: TestClock;
}

/** @param leaderUrl undefined: none is known */
export async function standBy(
  leaderUrl: string | undefined,
  options: Partial<ForwardingOptions> = {},
  listening: Partial<HttpServerOptions> = {},
): Promise<Standby> {
  const clock = new TestClock();
  const handler = new ForwardingHandler({
    leader: () => (leaderUrl === undefined ? undefined : { url: leaderUrl }),
    proof: proofBy(clock),
    health: () => ({ ready: false, checks: [{ name: 'log', ok: false, detail: 'it is away' }] }),
    docsUrl: 'http://docs',
    log: createLog('silent', { write: () => undefined }),
    timeouts,
    ...options,
  });
  onTestFinished(() => handler.close());
  const server = await listen(handler, { newRequestId: () => 'req_standby', ...listening });
  return { handler, server, url: `http://127.0.0.1:${server.port}`, clock };
}

/** An answer whose body a test reads by itself. */
export const rawGet = (url: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    httpRequest(url, resolve).on('error', reject).end();
  });

/** How it ended for a client: after a last piece, or without one. */
export const endOf = (answer: IncomingMessage): Promise<'end' | 'cut'> =>
  new Promise((resolve) => {
    answer.on('end', () => resolve('end')).on('error', () => resolve('cut'));
    answer.resume();
  });
