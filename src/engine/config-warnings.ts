/**
 * Settings that are valid, and yet seldom what an operator wants: warned of by the log of a start, and by `doctor`.
 */
import type { Config } from '../config.ts';
import { isLocalUrl, isLoopback } from '../model/address.ts';
import { assertLimits, readLimits } from './machine/machine-limits.ts';

/** What a start warns of, the limits of the machine among it. @throws MachineLimitError where it cannot run at all */
export function startWarnings(config: Config, dataDir: string): string[] {
  return [...assertLimits(config, readLimits(dataDir)), ...configWarnings(config)];
}

export function configWarnings(config: Config): string[] {
  // An edge makes no codes, and takes no passwords.
  if (config.cluster.role === 'edge') return [];
  return [localLinks(config), plainApi(config)].filter((warning) => warning !== undefined);
}

function localLinks({ shortUrlBase }: Config): string | undefined {
  if (!isLocalUrl(shortUrlBase)) return undefined;
  return (
    `short links begin with ${shortUrlBase}, which no phone can open: codes printed now keep this address; ` +
    'before printing set shortUrlBase (QZ_SHORT_URL_BASE) to an address that phones reach'
  );
}

/** An API whose passwords and keys can be read on their way. */
function plainApi({ api, trustedProxies }: Config): string | undefined {
  const isOpen = api.host !== 'localhost' && !isLoopback(api.host);
  if (!isOpen || api.tlsCertFile !== '' || trustedProxies.length > 0) return undefined;
  return (
    `passwords and API keys cross the network in clear text: api.host is ${api.host} without TLS, ` +
    'expected api.tlsCertFile and api.tlsKeyFile, a proxy named in trustedProxies, or api.host 127.0.0.1'
  );
}
