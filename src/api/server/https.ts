/**
 * For an API with TLS of its own: a plain port that redirects browsers to it, and the header that makes browsers use TLS
 * from then on. A proxy that terminates TLS provides both.
 */
import type { Config } from '../../platform/config/config.ts';
import type { Handler } from '../../platform/uws/request.ts';
import type { WorkspaceServices } from '../../product/workspaces/services.ts';
import { withRate } from '../kernel/guard.ts';

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
