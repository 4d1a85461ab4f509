/**
 * The tables of webhooks, in the management environment. Deliveries have an environment of their own.
 *
 *   webhook_endpoints    endpointNo                                           -> EndpointRecord
 *   workspace_endpoints  [workspaceNo, endpointNo]                            -> 1
 *
 * The control thread holds all endpoints in memory as well (about 1 KB each, and a workspace has few),
 * because every event looks up its listeners.
 */
import type { EndpointRecord } from '../../model/webhook.ts';
import type { StoreEnvironment } from '../environment.ts';

export function openWebhookTables(environment: StoreEnvironment) {
  return {
    endpoints: environment.table<number, EndpointRecord>('webhook_endpoints', { key: 'uint32' }),
    workspaceEndpoints: environment.set<[number, number]>('workspace_endpoints'),
  };
}
