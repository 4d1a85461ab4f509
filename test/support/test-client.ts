import { afterAll } from 'vitest';
import { Client } from './client.ts';
import { startTestApi, type TestApp } from './test-app.ts';

/** The API and a client with its owner's key, for one test file: they close after its last test. */
export async function openTestClient(
  ...options: Parameters<typeof startTestApi>
): Promise<{ readonly service: TestApp; readonly client: Client }> {
  const service = await startTestApi(...options);
  const client = new Client(service.url, service.apiKey);
  afterAll(async () => {
    await client.close();
    await service.close();
  });
  return { service, client };
}
