/** The HTTP layer alone, on a free port of the loopback; a defect fails the test. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'vitest';
import { ClientAddresses } from '../../../src/platform/uws/client-address.ts';
import type { Handler } from '../../../src/platform/uws/request.ts';
import { HttpServer, type HttpServerOptions } from '../../../src/api/server/server.ts';

export const openServer = async (
  handler: Handler,
  more: Partial<HttpServerOptions> = {},
): Promise<HttpServer> =>
  await HttpServer.open({
    host: '127.0.0.1',
    port: 0,
    addresses: new ClientAddresses([]),
    newRequestId: () => 'req_1',
    handler,
    onDefect: (error) => expect.fail(String(error)),
    ...more,
  });

/** A connection that was answered once and goes on. */
export async function connected(port: number, request: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.write(request);
  await once(socket, 'data');
  return socket;
}
