/**
 * Opens all of product/workspaces/: the app calls this once, the API uses what it returns.
 */
import type { KeyObject } from 'node:crypto';
import type { Clock } from '../../model/clock.ts';
import type { IdSource, RandomBytes } from '../../model/ids.ts';
import { Outbox } from '../../webhooks/outbox.ts';
import { putKeyPrint } from '../../store/installation.ts';
import type { Management } from '../../store/management/management.ts';
import { accessVersion, raiseAccessVersion } from './access.ts';
import { Accounts } from './accounts.ts';
import { ApiKeys } from './api-keys.ts';
import { Idempotency } from './idempotency.ts';
import { Invites } from './invites.ts';
import { Members } from './members.ts';
import { addressQuota, MemoryQuota, sessionLimits } from './memory-quota.ts';
import { Profiles } from './profile/profiles.ts';
import { limitHashes, Passwords } from './passwords.ts';
import { Quota } from './quota.ts';
import { SecretCipher } from './secret-cipher.ts';
import { Sessions } from './sessions.ts';
import { SignInThrottle } from './sign-in-throttle.ts';
import { readSigningKeys, rotateSigningKeys, signingKeyPrint } from './signing-keys.ts';
import { Users } from './users.ts';
import { Workspaces } from './workspaces.ts';

export interface WorkspaceServices {
  readonly workspaces: Workspaces;
  readonly users: Users;
  readonly keys: ApiKeys;
  readonly sessions: Sessions;
  readonly accounts: Accounts;
  readonly profiles: Profiles;
  readonly members: Members;
  readonly invites: Invites;
  readonly quota: Quota;
  /** Of client addresses without a valid key. */
  readonly ipQuota: MemoryQuota;
  /** Of people in the dashboard, by user. */
  readonly sessionQuota: MemoryQuota;
  readonly idempotency: Idempotency;
  /** Differs when keys, roles or memberships have changed: permissions must be checked again. */
  accessVersion(): number;
  /** For secrets that are stored and read again. */
  readonly cipher: SecretCipher;
  /** For what clients hold and send back: cursors, ids of the event stream. */
  readonly positionCipher: SecretCipher;
  /** For the tokens in links of reports and digests. */
  readonly linkCipher: SecretCipher;
  /** A new secret signs API keys from now on, also in a running service. @returns its kid */
  rotateSigningKeys(): string;
  /** Removes kept answers, sessions and invites after their time, a batch of each. */
  expire(): Promise<void>;
  /** Writes what is not written yet. Before the management environment is closed. */
  close(): Promise<void>;
}

export interface WorkspaceServicesOptions {
  readonly store: Management;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Where the signing keys are, or will be. */
  readonly dataDir: string;
  /** Of new password hashes; production's when absent. */
  readonly passwordCostLog2?: number;
  /** Password hashes under way in this process; 2 when absent. */
  readonly hashesAtOnce?: number | undefined;
}

export function openWorkspaceServices(options: WorkspaceServicesOptions): WorkspaceServices {
  const { store, ids, clock, randomBytes, dataDir, passwordCostLog2: costLog2 } = options;
  limitHashes(options.hashesAtOnce);
  const signingKeys = (): ReturnType<typeof readSigningKeys> => readSigningKeys(dataDir);
  // Rotation keeps the oldest. Read now: the folder may be not in place when it is needed.
  const oldest = signingKeys().at(-1)?.secret;
  const secret = (): KeyObject => {
    if (oldest === undefined) throw new Error('Cannot encrypt: no signing key, expected one');
    return oldest;
  };
  const users = new Users(store, ids, clock, new Passwords({ randomBytes, costLog2, secret }));
  const keys = new ApiKeys({ store, ids, clock, signingKeys });
  const quota = new Quota(store, clock);
  const sessions = new Sessions(store, clock, randomBytes);
  const outbox = new Outbox(store, ids, clock);
  const invites = new Invites({ store, users, outbox, ids, clock, randomBytes });
  const cipher = new SecretCipher(secret, randomBytes);
  const idempotency = new Idempotency(store, clock, cipher);
  return {
    workspaces: new Workspaces({ store, users, keys, ids, clock, randomBytes }),
    users,
    keys,
    sessions,
    accounts: new Accounts(store, users, sessions, new SignInThrottle(clock)),
    profiles: new Profiles({ store, users, clock, randomBytes }),
    members: new Members(store, users, invites),
    invites,
    quota,
    ipQuota: addressQuota(clock),
    sessionQuota: new MemoryQuota(clock, sessionLimits),
    idempotency,
    accessVersion: () => accessVersion(store),
    cipher,
    positionCipher: new SecretCipher(secret, randomBytes, 'quietzone positions'),
    linkCipher: new SecretCipher(secret, randomBytes, 'quietzone report links'),
    // The writer lock of the store keeps a second rotation out.
    rotateSigningKeys: () =>
      store.environment.transactionSync(() => {
        const key = rotateSigningKeys(dataDir, randomBytes);
        const [name, print] = signingKeyPrint(key);
        putKeyPrint(store.installation, name, print);
        raiseAccessVersion(store);
        return key.kid;
      }),
    async expire() {
      await Promise.all([idempotency.expire(), sessions.expire(), invites.expire()]);
    },
    async close() {
      await quota.close();
      await keys.close();
      await sessions.close();
    },
  };
}
