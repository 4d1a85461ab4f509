/** The ports that a service listens on, by its settings. */
import type { Config } from '../config.ts';
import { assertPortFree } from '../http/port.ts';

interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** All that the service listens on; a core of a cluster does not redirect. */
export const portsOf = ({ redirect, api, metrics, cluster }: Config): ListenAddress[] =>
  [
    ...(cluster.role === 'core'
      ? []
      : [redirect, { host: redirect.host, port: redirect.httpPort }]),
    api,
    { host: api.host, port: api.httpPort },
    metrics,
  ].filter(({ port }) => port > 0);

/** @param held ports of the predecessor */
export async function assertPortsFree(config: Config, held: readonly number[] = []): Promise<void> {
  for (const { host, port } of portsOf(config)) {
    if (!held.includes(port)) await assertPortFree(host, port);
  }
}
