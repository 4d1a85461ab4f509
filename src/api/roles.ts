/**
 * Who may do what: one line per operation, the least role that may. Complete by type: an operation
 * without a line does not compile. `public` needs no key and counts against the caller's address.
 * `signed` needs none either: the body's signature says who sends it, and only a bad one counts.
 * `person` is for whoever is signed in, whatever their role, and for no API key.
 */
import type { Role } from '../model/workspace.ts';

export type Access = Role | 'public' | 'signed' | 'person';

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
  signIn: 'public',
  signOut: 'person',
  changePassword: 'person',
  getSession: 'viewer',
  listWorkspaces: 'viewer',
  createWorkspace: 'person',
  updateWorkspace: 'admin',
  switchWorkspace: 'person',
  listApiKeys: 'admin',
  createApiKey: 'admin',
  deleteApiKey: 'admin',
  rotateApiKey: 'admin',
  listInvites: 'admin',
  createInvite: 'admin',
  deleteInvite: 'admin',
  acceptInvite: 'public',
  listMembers: 'viewer',
  updateMember: 'admin',
  deleteMember: 'admin',
  getUsage: 'viewer',
  listPlans: 'viewer',
  getSubscription: 'viewer',
  openCheckout: 'owner',
  getCheckout: 'owner',
  confirmCheckout: 'owner',
  changeSubscription: 'owner',
  cancelSubscription: 'owner',
  resumeSubscription: 'owner',
  openPortal: 'owner',
  receiveStripeEvent: 'signed',
} as const satisfies Readonly<Record<string, Access>>;

export type OperationId = keyof typeof operationAccess;
