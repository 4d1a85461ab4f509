/** The ports of the control thread: the API, the metrics, and plain HTTP next to an API with TLS. */
import {
  createHttpsRedirect,
  createMetricsHandler,
  strictTransport,
} from '../api/server/plain-http.ts';
import { HttpServer, type HttpServerOptions } from '../api/server/server.ts';
import type { Closers } from '../platform/closers.ts';
import type { Metrics } from '../platform/metrics.ts';
import { ClientAddresses } from '../platform/uws/client-address.ts';
import type { Handler, Reply, Request } from '../platform/uws/request.ts';
import type { WorkspaceServices } from '../product/workspaces/services.ts';
import type { Base } from './modules.ts';
import { watchShedConnections } from './metrics/operator-metrics.ts';

const drainMsMax = 3_000;

/** Paths for other machines of a cluster, matched before the API's. */
export interface ClusterEndpoints {
  reply(request: Request): Reply | Promise<Reply> | undefined;
}

const withClusterEndpoints = (endpoints: ClusterEndpoints | undefined, then: Handler): Handler =>
  endpoints === undefined
    ? then
    : {
        handle: async (request) => await (endpoints.reply(request) ?? then.handle(request)),
        refuse: (request, failure) => then.refuse(request, failure),
      };

export interface PortsOptions extends Pick<HttpServerOptions, 'handler' | 'forwarded'> {
  readonly first?: ClusterEndpoints | undefined;
  readonly metrics: Metrics;
  readonly redirects: { readonly shed: number };
  readonly ipQuota: WorkspaceServices['ipQuota'];
}

/**
 * Opens the ports of metrics and of the API; next to an API with TLS, also one that redirects plain HTTP to it.
 * @returns the port of the API @throws ListenError
 */
export async function openPorts(
  base: Base,
  { handler, first, forwarded, metrics, redirects, ipQuota }: PortsOptions,
  closers: Closers,
): Promise<number> {
  const { config, shares, log } = base;
  if (config.metrics.port > 0) {
    const own = { ...config.metrics, connectionsMax: shares.metrics };
    const metricsServer = await openServer(base, own, createMetricsHandler(metrics));
    closers.push(() => metricsServer.close());
  }
  const { host, httpPort, publicUrl } = config.api;
  const server = await openApiServer(base, withClusterEndpoints(first, handler), { forwarded });
  closers.push(() => server.drain(drainMsMax));
  closers.push(watchShedConnections(metrics, log, { redirect: redirects, api: server }));
  if (httpPort > 0) {
    const own = { host, port: httpPort, connectionsMax: apiShare(base) };
    const plain = await openServer(base, own, createHttpsRedirect(publicUrl, ipQuota));
    closers.push(() => plain.close());
  }
  return server.port;
}

/** @param more options beyond the settings @throws ListenError */
export async function openApiServer(
  base: Base,
  handler: Handler,
  more: Partial<HttpServerOptions> = {},
): Promise<HttpServer> {
  const { api } = base.config;
  const { host, port } = api;
  const headers = strictTransport(base.config);
  const own = { host, port, tls: api, headers, connectionsMax: apiShare(base), ...more };
  return await openServer(base, own, handler);
}

const apiShare = ({ config, shares }: Base): number =>
  Math.floor(shares.api / (config.api.httpPort > 0 ? 2 : 1));

async function openServer(
  { config, ids, log, heldPorts = [] }: Base,
  listener: Partial<HttpServerOptions> & { readonly host: string; readonly port: number },
  handler: Handler,
): Promise<HttpServer> {
  return await HttpServer.open({
    ...listener,
    isShared: heldPorts.includes(listener.port),
    addresses: new ClientAddresses(config.trustedProxies),
    newRequestId: () => ids.newId('req'),
    handler,
    onDefect: (err, requestId) => log.error({ err, requestId }, 'request failed'),
  });
}
