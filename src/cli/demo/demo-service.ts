/** The service while the demo is made: on ports of this machine alone that the system chooses, by a clock of its own. */
import type { AppOptions } from '../../app.ts';
import type { Config } from '../../config.ts';
import type { Logger } from '../../telemetry/log.ts';
import { ApiClient } from './api-client.ts';
import type { MovedClock } from './moved-clock.ts';

const host = '127.0.0.1';

export interface DemoServiceOptions {
  /** As the demo is served later. */
  readonly config: Config;
  readonly clock: MovedClock;
  readonly machine?: AppOptions['machine'];
  readonly log: Logger;
}

export interface DemoService {
  readonly api: ApiClient;
  /** Address of short links, without a slash at its end. */
  readonly redirects: string;
}

/** A receiver that refuses has its dead letters after a second; as it is served, the demo waits like every service. */
const retryDelaysMs = [20, 20, 20, 20, 20, 20, 20];

/** Runs `work` beside the service, and closes it whatever happens. @param apiKey absent at the first start, which makes it */
export async function withService<T>(
  { config, clock, machine, log }: DemoServiceOptions,
  apiKey: string | undefined,
  work: (service: DemoService, apiKey: string) => Promise<T>,
): Promise<T> {
  const { openApp } = await import('../../app.ts');
  const app = await openApp(whileMade(config), log, {
    machine: { ...machine, clock, steady: clock.steady },
  });
  try {
    const key = apiKey ?? app.firstSecrets?.apiKey;
    if (key === undefined) throw new Error('Cannot make the demo: its service has no first key');
    // The demo tells them itself, as often as it is asked.
    app.secretsShown();
    const api = new ApiClient(`http://${host}:${app.apiPort}/v1`, key);
    return await work({ api, redirects: `http://${host}:${app.redirectPort}` }, key);
  } finally {
    await app.close();
  }
}

/** Addresses that are printed stay those of the demo as it is served. */
const whileMade = (config: Config): Config => ({
  ...config,
  trustedProxies: [host],
  api: { ...config.api, host, port: 0, httpPort: 0, tlsCertFile: '', tlsKeyFile: '' },
  redirect: {
    ...config.redirect,
    host,
    port: 0,
    httpPort: 0,
    tlsCertFile: '',
    tlsKeyFile: '',
    threads: 1,
  },
  metrics: { ...config.metrics, port: 0 },
  mail: { ...config.mail, host: '' },
  webhooks: { ...config.webhooks, retryDelaysMs },
});
