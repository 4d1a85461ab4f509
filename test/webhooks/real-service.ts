/** The real service with webhooks to loopback, and what tests of deliveries ask of it. */
import { Client, type Json, word } from '../support/client.ts';
import { freePorts, startProcess } from '../support/process.ts';

export type RealService = Awaited<ReturnType<typeof openReal>>;

interface RealOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly nodeOptions?: readonly string[];
}

export async function openReal(dataDir: string, options: RealOptions = {}) {
  const service = await startProcess({
    dataDir,
    ports: await freePorts(),
    environment: { QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8', ...options.environment },
    nodeOptions: options.nodeOptions ?? [],
  });
  return { service, api: new Client(`${service.apiUrl}/v1`, service.apiKey) };
}

/** @throws Error when it is not created */
export async function makeEndpoint(
  { api }: RealService,
  url: string,
  events: readonly string[] = ['qr.created'],
): Promise<string> {
  return word((await api.make('/webhooks', { url, events })).id);
}

/** As many `qr.created`, by one request of the plan's quota. */
export async function createMany({ api }: RealService, count: number): Promise<void> {
  const body = Array.from({ length: count }, () => ({ target: 'https://example.com/' }));
  const { created } = await api.make('/qr-codes/bulk', body);
  if (Number(created) !== count) throw new Error(`${word(created)} of ${count} codes were made`);
}

/** As many `qr.deleted`, of the newest codes. */
export async function deleteSome({ api }: RealService, count: number): Promise<void> {
  const { items } = await api.get(`/qr-codes?limit=${count}`);
  for (const { id } of items) {
    const { status, text } = await api.delete(`/qr-codes/${word(id)}`);
    if (status !== 200) throw new Error(`${status} ${text}`);
  }
}

/** The newest hundred deliveries to an endpoint. */
export async function deliveriesOf({ api }: RealService, id: string): Promise<readonly Json[]> {
  const { items } = await api.get(`/webhooks/${id}/deliveries?limit=100`);
  return items;
}

/** The ids of every event that the service has committed, up to `max`. */
export async function committedIds({ api }: RealService, max: number): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = ''; ids.length < max;) {
    const { items, json } = await api.get(`/events?limit=100${cursor}`);
    ids.push(...items.map(({ id }) => word(id)));
    if (typeof json.nextCursor !== 'string') break;
    cursor = `&cursor=${encodeURIComponent(json.nextCursor)}`;
  }
  return ids;
}
