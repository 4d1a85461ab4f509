/** The dashboard's files behind a server of Node: for `npm run dev`, and for tests of pages without a service. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DashboardFiles } from '../../src/http/dashboard/dashboard-files.ts';
import type { Request } from '../../src/http/request.ts';

export function sendDashboard(
  files: DashboardFiles,
  message: IncomingMessage,
  response: ServerResponse,
): void {
  const reply = files.reply(requestOf(message));
  const body = reply?.body instanceof Uint8Array ? reply.body : undefined;
  response.writeHead(reply?.status ?? 404, reply?.headers).end(body);
}

function requestOf({ url = '/', method = 'GET', headers }: IncomingMessage): Request {
  const { pathname, search } = new URL(url, 'http://localhost');
  return {
    id: 'req_1',
    method,
    path: pathname,
    query: search.slice(1),
    header: (name) => {
      const value = headers[name];
      return typeof value === 'string' ? value : undefined;
    },
    clientAddress: '127.0.0.1',
    peerAddress: '127.0.0.1',
    body: async () => new Uint8Array(),
    chunks: async function* none() {},
    aborted: false,
  };
}
