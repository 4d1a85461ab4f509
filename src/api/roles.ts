/**
 * Who may do what: one line per operation, the least role that may. Complete by type: an operation
 * without a line does not compile. `public` needs no key and counts against the caller's address.
 */
import type { Role } from '../model/workspace.ts';

export type Access = Role | 'public';

export const operationAccess = {
  getOpenApi: 'public',
  listQrCodes: 'viewer',
  createQrCode: 'editor',
  getQrCode: 'viewer',
  updateQrCode: 'editor',
  replaceQrCode: 'editor',
  deleteQrCode: 'editor',
  getAnalytics: 'viewer',
  getTimeseries: 'viewer',
  getBreakdown: 'viewer',
  listEvents: 'viewer',
} as const satisfies Readonly<Record<string, Access>>;

export type OperationId = keyof typeof operationAccess;
