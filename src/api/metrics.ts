/** Answers /metrics on `metrics.port`, for every client that reaches it. */
import { type Handler, isRead } from '../platform/uws/request.ts';
import type { Failure } from '../model/failure.ts';
import type { Metrics } from '../platform/metrics.ts';

export function createMetricsHandler(metrics: Metrics): Handler {
  const plain = { 'Content-Type': 'text/plain' };
  return {
    handle: async (request) => {
      if (request.path !== '/metrics')
        return { status: 404, headers: plain, body: 'Try /metrics\n' };
      if (!isRead(request)) {
        return { status: 405, headers: { ...plain, Allow: 'GET, HEAD' }, body: 'Try GET\n' };
      }
      const headers = { 'Content-Type': metrics.contentType, 'Cache-Control': 'no-store' };
      return { status: 200, headers, body: await metrics.text() };
    },
    refuse: (_request, failure: Failure) => ({
      status: failure.code === 'overloaded' ? 503 : 400,
      headers: plain,
      body: `${failure.message}\n`,
    }),
  };
}
