/** Checks before a start opens any store: free ports, machine limits, and valid but unusual settings. */
import type { Config } from '../../platform/config/config.ts';
import { assertPortFree, assertTlsFiles } from '../../platform/uws/port.ts';
import { isLocalUrl, isLoopback } from '../../model/address.ts';
import { assertLimits, readLimits } from './machine-limits.ts';

/** Every address that the service listens on. A core of a cluster does not redirect. */
export const portsOf = ({ redirect, api, metrics, cluster }: Config) =>
  [
    ...(cluster.role === 'core'
      ? []
      : [redirect, { host: redirect.host, port: redirect.httpPort }]),
    api,
    { host: api.host, port: api.httpPort },
    metrics,
  ].filter(({ port }) => port > 0);

export async function assertPortsFree(config: Config, held: readonly number[] = []): Promise<void> {
  for (const { host, port } of portsOf(config)) {
    if (!held.includes(port)) await assertPortFree(host, port);
  }
}

/**
 * Checks the limits of the machine, the ports and the TLS files. Changes nothing.
 * @param heldPorts of the predecessor @returns warnings for the operator @throws MachineLimitError, ListenError
 */
export async function examineMachine(
  config: Config,
  dataDir: string,
  heldPorts?: readonly number[],
): Promise<string[]> {
  const warnings = [...assertLimits(config, readLimits(dataDir)), ...configWarnings(config)];
  await assertPortsFree(config, heldPorts);
  assertTlsFiles(config.redirect);
  assertTlsFiles(config.api);
  return warnings;
}

export function configWarnings(config: Config): string[] {
  // An edge does not create codes or receive passwords.
  if (config.cluster.role === 'edge') return [];
  return [localLinks(config), plainApi(config)].filter((warning) => warning !== undefined);
}

function localLinks({ shortUrlBase }: Config): string | undefined {
  if (!isLocalUrl(shortUrlBase)) return undefined;
  return (
    `short links begin with ${shortUrlBase}, which phones cannot open: codes printed now keep this address; ` +
    'before you print, set shortUrlBase (QZ_SHORT_URL_BASE) to an address that phones can reach'
  );
}

function plainApi({ api, trustedProxies }: Config): string | undefined {
  const isOpen = api.host !== 'localhost' && !isLoopback(api.host);
  if (!isOpen || api.tlsCertFile !== '' || trustedProxies.length > 0) return undefined;
  return (
    `passwords and API keys cross the network in clear text: api.host is ${api.host} without TLS, ` +
    'expected api.tlsCertFile and api.tlsKeyFile, a proxy named in trustedProxies, or api.host 127.0.0.1'
  );
}
