/**
 * The room's parts put together: what the app opens once and the API calls.
 */
import type { Clock } from '../model/clock.ts';
import type { IdSource, RandomBytes } from '../model/ids.ts';
import type { Management } from '../store/management.ts';
import { ApiKeys } from './api-keys.ts';
import { Idempotency } from './idempotency.ts';
import { IpQuota } from './ip-quota.ts';
import { Quota } from './quota.ts';
import { openSigningKeys } from './signing-keys.ts';
import { Users } from './users.ts';
import { Workspaces } from './workspaces.ts';

export interface WorkspaceServices {
  readonly workspaces: Workspaces;
  readonly users: Users;
  readonly keys: ApiKeys;
  readonly quota: Quota;
  readonly ipQuota: IpQuota;
  readonly idempotency: Idempotency;
  /** Writes what still waits. Before the management environment is closed. */
  close(): Promise<void>;
}

export interface WorkspaceServicesParts {
  readonly store: Management;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Where the signing keys are, or will be. */
  readonly dataDir: string;
}

export function openWorkspaceServices(parts: WorkspaceServicesParts): WorkspaceServices {
  const { store, ids, clock, randomBytes, dataDir } = parts;
  const signingKeys = (): ReturnType<typeof openSigningKeys> =>
    openSigningKeys(dataDir, randomBytes);
  const users = new Users(store, ids, clock, randomBytes);
  const keys = new ApiKeys({ store, ids, clock, signingKeys });
  const quota = new Quota(store, clock);
  return {
    workspaces: new Workspaces({ store, users, keys, ids, clock, randomBytes }),
    users,
    keys,
    quota,
    ipQuota: new IpQuota(clock),
    idempotency: new Idempotency(store, clock),
    async close() {
      await quota.close();
      await keys.close();
    },
  };
}
