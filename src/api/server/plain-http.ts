/**
 * What the control thread answers on ports without TLS: /metrics, and a redirect to the API if the API has TLS. Then the API
 * also sends the header that makes browsers use TLS from then on. A proxy that terminates TLS provides both.
 */
import type { Config } from '../../platform/config/config.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { type Handler, isRead } from '../../platform/uws/request.ts';
import type { WorkspaceServices } from '../../product/workspaces/services.ts';
import { withRate } from '../kernel/guard.ts';

/** Answers /metrics on `metrics.port`, for every client that reaches it. */
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
    refuse: (_request, failure) => ({
      status: failure.code === 'overloaded' ? 503 : 400,
      headers: plain,
      body: `${failure.message}\n`,
    }),
  };
}

/** Half a year, in which a browser opens this host only with TLS. */
const strictSeconds = 15_552_000;

/**
 * Answers every method with 308 to the same address under `publicUrl`. It ignores keys and passwords: they have crossed the
 * network in clear text.
 */
export function createHttpsRedirect(
  publicUrl: string,
  quota: Pick<WorkspaceServices['ipQuota'], 'peek'>,
): Handler {
  const { origin } = new URL(publicUrl);
  return {
    handle: async ({ path, query, clientAddress }) => {
      // A path may have DEL, a header may not.
      const target = `${path}${query === '' ? '' : `?${query}`}`.replaceAll('\u007f', '%7F');
      const headers = { Location: origin + target, 'Cache-Control': 'no-store' };
      return withRate({ status: 308, headers, body: '' }, quota.peek(clientAddress));
    },
    refuse: ({ clientAddress }, failure) => {
      const status = failure.code === 'overloaded' ? 503 : 400;
      const headers = { 'Content-Type': 'text/plain' };
      return withRate({ status, headers, body: failure.message }, quota.peek(clientAddress));
    },
  };
}

/**
 * Strict-Transport-Security (RFC 6797) for an API with TLS. It applies to every port of the host, so it is absent if short
 * links without TLS are on the same host: their codes would no longer open.
 */
export function strictTransport({ api, shortUrlBase }: Config): Readonly<Record<string, string>> {
  if (api.tlsCertFile === '') return {};
  const links = new URL(shortUrlBase);
  const isShared = links.hostname === new URL(api.publicUrl).hostname;
  if (isShared && links.protocol !== 'https:') return {};
  return { 'Strict-Transport-Security': `max-age=${strictSeconds}` };
}
