/**
 * /metrics. On the API's listener only for clients on this machine: a proxy on the same machine forwards
 * others, and says so by X-Forwarded-For. With a port of its own it answers every client that reaches it.
 */
import { isLoopback } from '../model/address.ts';
import type { Handler, Reply, Request } from '../http/request.ts';
import type { Failure } from '../model/failure.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export function mayReadMetrics(request: Request): boolean {
  const forwarded = request.header('x-forwarded-for') !== undefined;
  return isLoopback(request.peerAddress) && isLoopback(request.clientAddress) && !forwarded;
}

export async function metricsReply(metrics: Metrics): Promise<Reply> {
  const headers = { 'Content-Type': metrics.contentType, 'Cache-Control': 'no-store' };
  return { status: 200, headers, body: await metrics.text() };
}

/** What answers on `metrics.port`: /metrics and nothing else. */
export function createMetricsHandler(metrics: Metrics): Handler {
  const plain = { 'Content-Type': 'text/plain' };
  return {
    handle: async ({ method, path }) => {
      if (path !== '/metrics') return { status: 404, headers: plain, body: 'Try /metrics\n' };
      if (method === 'GET' || method === 'HEAD') return metricsReply(metrics);
      return { status: 405, headers: { ...plain, Allow: 'GET, HEAD' }, body: 'Try GET\n' };
    },
    refuse: (_request, failure: Failure) => ({
      status: failure.code === 'overloaded' ? 503 : 400,
      headers: plain,
      body: `${failure.message}\n`,
    }),
  };
}
