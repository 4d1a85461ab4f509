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
import type { StoreEnvironment, Table } from '../environment.ts';

export interface WebhookTables {
  readonly endpoints: Table<number, EndpointRecord>;
  readonly workspaceEndpoints: Table<[number, number], number>;
}

export function openWebhookTables(environment: StoreEnvironment): WebhookTables {
  return {
    endpoints: environment.table('webhook_endpoints', { key: 'uint32' }),
    workspaceEndpoints: environment.table('workspace_endpoints'),
  };
}
