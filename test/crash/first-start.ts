import { Client } from '../support/client.ts';
import { liftQuota } from '../support/lift-quota.ts';
import type { Ports } from '../support/process.ts';
import { TestService } from '../support/test-service.ts';

export const toLoopback = {
  QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
  // Short, so that a run ends; as many as the real ones.
  QZ_WEBHOOKS_RETRY_DELAYS_MS: '50,100,200,400,800,1600,3200',
};

/**
 * An orderly first start and stop, in this process. Later writes go as fast as the machine is, without a quota.
 * @param receiver gets every event @returns the API key
 */
export async function firstStart(
  { dataDir, ports }: { readonly dataDir: string; readonly ports: Ports },
  receiver: string,
): Promise<string> {
  const service = await TestService.start({ dataDir, ports, environment: toLoopback });
  const client = new Client(service.apiUrl, service.apiKey);
  const body = { url: receiver, events: ['*'] };
  const { status, text } = await client.call('POST', '/v1/webhooks', { body });
  if (status !== 201) throw new Error(`Cannot subscribe the receiver: ${text}`);
  await client.close();
  await liftQuota(dataDir);
  await service.close();
  return service.apiKey;
}
