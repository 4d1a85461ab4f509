/**
 * What a browser needs beside an API that speaks TLS itself: the plain port that sends it there, and the header that
 * makes it come there by itself. Behind a proxy that ends TLS, both are the proxy's.
 */
import type { Config } from '../config.ts';
import type { Handler } from '../http/request.ts';
import type { WorkspaceServices } from '../workspaces/services.ts';
import { withRate } from './guard.ts';

/** Half a year: so long does a browser that has been here once not open this host without TLS. */
const strictSeconds = 15_552_000;

/**
 * Answers 308 to the same address under `publicUrl`, whatever the method. Keys and passwords are not looked at: those that
 * come here have crossed the network in clear text.
 */
export function createHttpsRedirect(
  publicUrl: string,
  quota: Pick<WorkspaceServices['ipQuota'], 'peek'>,
): Handler {
  const { origin } = new URL(publicUrl);
  return {
    handle: async ({ path, query, clientAddress }) => {
      // A header may not hold what a path may: DEL.
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
 * Strict-Transport-Security (RFC 6797) where the API speaks TLS. It holds for every port of the host: with
 * short links on the same host without TLS it is left out, for their codes would no longer open.
 */
export function strictTransport({ api, shortUrlBase }: Config): Readonly<Record<string, string>> {
  if (api.tlsCertFile === '') return {};
  const links = new URL(shortUrlBase);
  const isShared = links.hostname === new URL(api.publicUrl).hostname;
  if (isShared && links.protocol !== 'https:') return {};
  return { 'Strict-Transport-Security': `max-age=${strictSeconds}` };
}
